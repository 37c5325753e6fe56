import type { Capture } from './capture.ts';
import { entriesOf } from './channel-entries.ts';

/** A time of which a client has not all changes of an outcome. */
export interface Outage {
  /** The last time up to which it has all. */
  readonly lastRightMs: number;
  readonly firstLostMs: number;
  /** The time of the book that made it whole. */
  readonly wholeMs: number;
}

interface Entry {
  readonly event_type: string;
  readonly asset_id: string;
  readonly timestamp: string;
  readonly tick_size?: string;
}

/** The outages of an outcome of a client that got these frames in this order, of all that a capture has. */
export function outagesOf(capture: Capture, outcomeIndex: number, delivered: readonly string[]): Outage[] {
  const assetId = capture.listing.assetIds[outcomeIndex]!;
  const changesIn = (texts: readonly string[]) =>
    entriesOf(texts).filter((text) => {
      const { event_type, asset_id } = JSON.parse(text) as Entry;
      return event_type === 'price_change' && asset_id === assetId;
    });
  const got = new Set(changesIn(delivered));
  const timeOf = (text: string) => Number((JSON.parse(text) as Entry).timestamp);
  const lost = changesIn(capture.messages.map((message) => JSON.stringify(message)))
    .filter((text) => !got.has(text))
    .map(timeOf)
    .sort((a, b) => a - b);
  const rightMs = [...got].map(timeOf).sort((a, b) => a - b);
  const wholes = entriesOf(delivered)
    .map((text) => JSON.parse(text) as Entry)
    .filter(
      ({ event_type, asset_id, tick_size }) => event_type === 'book' && asset_id === assetId && tick_size !== undefined,
    )
    .map(({ timestamp }) => Number(timestamp))
    .sort((a, b) => a - b);
  const outages: Outage[] = [];
  for (const firstLostMs of lost) {
    if (outages.some(({ wholeMs }) => firstLostMs <= wholeMs)) continue;
    const wholeMs = wholes.find((ms) => ms >= firstLostMs) ?? Number.POSITIVE_INFINITY;
    outages.push({ lastRightMs: rightMs.findLast((ms) => ms < firstLostMs) ?? 0, firstLostMs, wholeMs });
  }
  return outages;
}
