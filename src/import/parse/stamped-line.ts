const TIME = '(?:\\d{9,20}(?:\\.\\d+)?|\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d[\\d.,:Z+-]*)';
/** A time (Unix or ISO 8601), perhaps in square brackets, before JSON. */
const STAMPED = new RegExp(`^(?:\\[(${TIME})\\]|(${TIME}))[\\s,;|:]+(?=[[{"])`);

/** A line without the time that recorders write before the JSON. */
export function withoutStamp(line: string): string {
  return line.replace(STAMPED, '');
}

/** The time that a recorder writes before the JSON, as it is written; undefined without one. */
export function stampOf(line: string): string | undefined {
  const stamp = STAMPED.exec(line);
  return stamp?.[1] ?? stamp?.[2];
}
