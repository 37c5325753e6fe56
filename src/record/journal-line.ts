import type { Gap } from '../domain/gap.ts';

/**
 * A line of the recorder's journal, which is JSON. `receivedUs`: when it arrived, in microseconds since 1970 by the recorder's clock.
 *
 * | kind | text |
 * |---|---|
 * | a frame of the venue's market channel, or of a price feed, as it came | `{"receivedAt":…,"socket":1,"frame":"…"}` |
 * | an answer of Gamma with market objects, as it came | `{"receivedAt":…,"gamma":"…"}` |
 * | a gap that the recorder found | `{"receivedAt":…,"gap":{"conditionId":"…","from":…,"to":…,"reason":"…"}}`, in ms |
 * | a window without a market | the same with `slug` in place of `conditionId`, from the window's start to its end |
 */
export type JournalLine = { readonly receivedUs: number } & (
  | { readonly socket: number; readonly frame: string }
  | { readonly gamma: string }
  | { readonly market: { readonly conditionId: string } | { readonly slug: string }; readonly gap: Gap }
);

/** The line as text, without its end. */
export function journalText(line: JournalLine): string {
  const { receivedUs: receivedAt } = line;
  // The busiest line of a recorder: as an object it would take twice as long.
  if ('frame' in line)
    return `{"receivedAt":${receivedAt},"socket":${line.socket},"frame":${JSON.stringify(line.frame)}}`;
  if ('gamma' in line) return JSON.stringify({ receivedAt, gamma: line.gamma });
  const { market, gap } = line;
  return JSON.stringify({ receivedAt, gap: { ...market, from: gap.fromMs, to: gap.toMs, reason: gap.reason } });
}
