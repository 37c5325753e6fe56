/** Colours of the style sheet as the present scheme has them, for a canvas. */
export interface PageColours {
  readonly ink: string;
  readonly quiet: string;
  readonly line: string;
  readonly surface: string;
  readonly sunken: string;
  readonly accent: string;
  readonly reference: string;
  readonly font: string;
}

export function pageColours(element: HTMLElement): PageColours {
  const probe = document.createElement('span');
  element.append(probe);
  const colourOf = (variable: string) => {
    probe.style.color = `var(${variable})`;
    return getComputedStyle(probe).color;
  };
  const colours = {
    ink: colourOf('--ink'),
    quiet: colourOf('--quiet'),
    line: colourOf('--line'),
    surface: colourOf('--surface'),
    sunken: colourOf('--sunken'),
    accent: colourOf('--accent'),
    reference: colourOf('--series-4'),
    font: `12px ${getComputedStyle(element).fontFamily}`,
  };
  probe.remove();
  return colours;
}
