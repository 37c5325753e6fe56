/** One market and a record of every other type, in bookreel's own format; tests overwrite the fields they check. */
export const CONDITION_ID = `0x${'ab12'.repeat(16)}`;
export const UP_ASSET = '98879333153580861799018681648381139364382622074357239010764368082362737328219';
export const DOWN_ASSET = '10262842163942413254268243362141411235372398371524318126442713486214823612211';
export const START_MS = Date.UTC(2026, 3, 16, 7, 10);

type Fields = Readonly<Record<string, unknown>>;

export function sampleMarket(fields: Fields = {}) {
  return {
    type: 'market',
    conditionId: CONDITION_ID,
    slug: 'btc-updown-5m-1776323400',
    symbol: 'btc',
    timeframe: '5m',
    outcomes: ['up', 'down'],
    clobTokenIds: [UP_ASSET, DOWN_ASSET],
    startTime: '2026-04-16T07:10:00.000Z',
    endTime: '2026-04-16T07:15:00.000Z',
    ...fields,
  };
}

export function sampleSnapshot(fields: Fields = {}) {
  return {
    type: 'snapshot',
    conditionId: CONDITION_ID,
    outcome: 'up',
    timestamp: '2026-04-16T07:10:04.123Z',
    bids: [
      { price: 0.51, size: 120.5 },
      { price: 0.5, size: 30 },
    ],
    asks: [{ price: 0.52, size: 7.25 }],
    ...fields,
  };
}

export function sampleQuote(fields: Fields = {}) {
  return {
    type: 'quote',
    conditionId: CONDITION_ID,
    outcome: 'up',
    timestamp: '2026-04-16T07:10:04.123Z',
    bidPrice: 0.51,
    bidSize: 120.5,
    askPrice: 0.52,
    askSize: 7.25,
    ...fields,
  };
}

export function samplePrice(fields: Fields = {}) {
  return {
    type: 'price',
    conditionId: CONDITION_ID,
    outcome: 'up',
    timestamp: '2026-04-16T07:10:04.123Z',
    kind: 'trade',
    price: 0.515,
    ...fields,
  };
}

export function sampleLastTradePrice(fields: Fields = {}) {
  return {
    type: 'lastTradePrice',
    conditionId: CONDITION_ID,
    outcome: 'up',
    timestamp: '2026-04-16T07:10:04.123Z',
    price: 0.49,
    ...fields,
  };
}

export function sampleCoinPrice(fields: Fields = {}) {
  return {
    type: 'coinPrice',
    symbol: 'btc',
    source: 'chainlink',
    timestamp: '2026-04-16T07:10:04.123Z',
    price: 76211.8,
    ...fields,
  };
}

export function sampleGap(fields: Fields = {}) {
  return {
    type: 'gap',
    conditionId: CONDITION_ID,
    from: '2026-04-16T07:11:00.000Z',
    to: '2026-04-16T07:11:30.500Z',
    reason: 'recorder restarted',
    ...fields,
  };
}
