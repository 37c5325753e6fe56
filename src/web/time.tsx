import { formatInstant, type InstantMs, timeText } from '../domain/instant.ts';

interface TimeContent {
  readonly ms: InstantMs | undefined;
  /** The text without an instant. */
  readonly or?: string;
  /** True: without the day and `UTC`, which headings have. */
  readonly isOfDay?: boolean;
}

/** `Saturday, 2026-11-28`. */
export function dayText(ms: InstantMs): string {
  const name = new Date(ms).toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
  return `${name}, ${formatInstant(ms).slice(0, 10)}`;
}

/** An instant in UTC, to the minute; its title is exact. */
export function Time({ ms, or = '', isOfDay = false }: TimeContent) {
  if (ms === undefined) return <>{or}</>;
  return (
    <time class="nowrap" datetime={formatInstant(ms)} title={formatInstant(ms)}>
      {isOfDay ? timeText(ms).slice(11, 16) : timeText(ms)}
    </time>
  );
}

/** The end of a tier. */
export function Until({ ms }: { readonly ms: InstantMs }) {
  return (
    <>
      until <Time ms={ms} />
    </>
  );
}
