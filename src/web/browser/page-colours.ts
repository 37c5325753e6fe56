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
  const names = ['ink', 'quiet', 'line', 'surface', 'sunken', 'accent', 'reference', 'bid', 'ask'] as const;
  return { ...coloursOf(names), font: `12px ${getComputedStyle(document.body).fontFamily}` };
}

/** The colours of variables of the style sheet, as the present scheme has them. */
export function coloursOf<Name extends string>(names: readonly Name[]): Record<Name, string> {
  // Nobody sees the head, and the body is not styled again for each.
  const { head } = document;
  const shown = getComputedStyle(head);
  const colours = names.map((name) => {
    head.style.color = `var(--${name})`;
    return [name, shown.color] as const;
  });
  // One of each name.
  return Object.fromEntries(colours) as Record<Name, string>;
}
