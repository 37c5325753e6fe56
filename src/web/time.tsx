import type { ComponentChildren } from 'preact';
import { formatInstant, type InstantMs, timeText } from '../domain/instant.ts';
import type { Column } from './table.tsx';

/** Ranges of characters of `timeText`. */
const PARTS = { all: [0, undefined], minutes: [0, 16], ofDay: [11, 16] } as const;

interface TimeContent {
  readonly ms: InstantMs | undefined;
  /** Shown without an instant. */
  readonly or?: ComponentChildren;
  /** The part that is shown: all by default; `UTC` or the day may stand in a heading. */
  readonly part?: keyof typeof PARTS;
}

/** `Saturday, 2026-11-28`. */
export function dayText(ms: InstantMs): string {
  const name = new Date(ms).toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
  return `${name}, ${formatInstant(ms).slice(0, 10)}`;
}

/** An instant in UTC, to the minute; its title is exact. */
export function Time({ ms, or = '', part = 'all' }: TimeContent) {
  if (ms === undefined) return <>{or}</>;
  return (
    <time class="nowrap" datetime={formatInstant(ms)} title={formatInstant(ms)}>
      {timeText(ms).slice(...PARTS[part])}
    </time>
  );
}

/** A column of the instants of a field, whose heading says that they are in UTC. */
export function timeColumn<Field extends string>(
  heading: string,
  field: Field,
  or?: ComponentChildren,
): Column<{ readonly [Name in Field]?: InstantMs | null | undefined }> {
  return {
    heading: `${heading} (UTC)`,
    cell: ({ [field]: ms }) => <Time ms={ms ?? undefined} or={or} part="minutes" />,
  };
}

/** The end of a tier. */
export function Until({ ms }: { readonly ms: InstantMs }) {
  return (
    <>
      until <Time ms={ms} />
    </>
  );
}
