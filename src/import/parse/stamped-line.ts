const TIME = '(?:\\d{9,20}(?:\\.\\d+)?|\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d[\\d.,:Z+-]*)';
/** A time (Unix or ISO 8601), perhaps in square brackets, before JSON. */
const STAMPED = new RegExp(`^(?:\\[${TIME}\\]|${TIME})[\\s,;|:]+(?=[[{"])`);

/** A line without the time that recorders write before the JSON. */
export function withoutStamp(line: string): string {
  return line.replace(STAMPED, '');
}
