/** Colours of the style sheet as the present scheme has them, for a canvas. */
export interface PageColours {
  readonly ink: string;
  readonly quiet: string;
  readonly line: string;
  readonly surface: string;
  readonly sunken: string;
  readonly accent: string;
  readonly reference: string;
  /** Up, bids and purchases; down, asks and sales. */
  readonly bid: string;
  readonly ask: string;
  readonly font: string;
}

export function pageColours(): PageColours {
  return {
    ink: colourOf('--ink'),
    quiet: colourOf('--quiet'),
    line: colourOf('--line'),
    surface: colourOf('--surface'),
    sunken: colourOf('--sunken'),
    accent: colourOf('--accent'),
    reference: colourOf('--series-4'),
    bid: colourOf('--bid'),
    ask: colourOf('--ask'),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
  };
}

/** The colour of a variable of the style sheet, as the present scheme has it. */
export function colourOf(variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
