const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

/** An instant as a clock on a page shows it: `10:32:12.988 UTC, 8 January 2026`. `instant`: its ISO form. */
export function clockText(instant: string): string {
  return `${instant.slice(11, 23)} UTC, ${DATE.format(new Date(instant))}`;
}
