import { writeFileSync } from 'node:fs';

export const LIGHT_CONDITION_ID = `0x${'ab'.repeat(32)}`;
export const LIGHT_START_MS = 1_776_323_400_000;

export const LIGHT_MARKET = {
  type: 'market',
  conditionId: LIGHT_CONDITION_ID,
  slug: 'btc-updown-24h-1776323400',
  symbol: 'btc',
  timeframe: '24h',
  outcomes: ['up', 'down'],
  clobTokenIds: ['11', '12'],
  startTime: LIGHT_START_MS,
  endTime: LIGHT_START_MS + 86_400_000,
};

/** Snapshot `index` of that market: outcomes alternate, each is 10 ms later, and the best level always changes. */
export function lightSnapshot(index: number, levels = 2, offsetMs = 0) {
  const bids: { price: number; size: number }[] = [];
  const asks: { price: number; size: number }[] = [];
  for (let level = 0; level < levels; level += 1) {
    bids.push({ price: (500 - level) / 1000, size: 100 + ((index + level * 13) % 900) });
    asks.push({ price: (510 + level) / 1000, size: 100 + ((index * 7 + level * 3) % 900) });
  }
  return {
    type: 'snapshot',
    conditionId: LIGHT_CONDITION_ID,
    outcome: index % 2 === 0 ? 'up' : 'down',
    timestamp: LIGHT_START_MS + index * 10 + offsetMs,
    bids,
    asks,
  };
}

/** The market and `count` of its snapshots as NDJSON: `count + 1` records. */
export function lightNdjson(count: number, from = 0): string {
  const lines = [JSON.stringify(LIGHT_MARKET)];
  for (let index = from; index < from + count; index += 1) lines.push(JSON.stringify(lightSnapshot(index)));
  return `${lines.join('\n')}\n`;
}

export function writeLightRecording(path: string, count: number, from = 0): void {
  writeFileSync(path, lightNdjson(count, from));
}
