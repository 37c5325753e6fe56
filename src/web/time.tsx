import { formatInstant, type InstantMs, timeText } from '../domain/instant.ts';

interface TimeContent {
  readonly ms: InstantMs | undefined;
  /** The text without an instant. */
  readonly or?: string;
}

/** An instant in UTC, to the minute; its title is exact. */
export function Time({ ms, or = '' }: TimeContent) {
  if (ms === undefined) return <>{or}</>;
  return (
    <time class="nowrap" datetime={formatInstant(ms)} title={formatInstant(ms)}>
      {timeText(ms)}
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
