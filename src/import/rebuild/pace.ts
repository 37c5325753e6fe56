/** The pace at which changes of a book become snapshots: every change, or the last one per interval of this many milliseconds. */
export type SnapshotPace = 'change' | number;

const PACE = /^(\d{1,6})(ms|s)$/;

/** `change`, or a duration of `1ms` to `999999s`. Undefined for anything else. */
export function parsePace(text: string): SnapshotPace | undefined {
  if (text === 'change') return 'change';
  const [, count, unit] = PACE.exec(text) ?? [];
  const milliseconds = Number(count) * (unit === 's' ? 1000 : 1);
  return milliseconds >= 1 ? milliseconds : undefined;
}
