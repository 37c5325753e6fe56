import { BOOKS, ETH, RECORDED, SOL, T0 } from './recording.ts';

const KINDS = [
  '',
  '?include=counts',
  '/snapshots?limit=1000',
  '/snapshots?interval=1s&depth=2&order=desc',
  `/snapshots/at/${T0 + 3000}`,
  `/snapshots/at?ts=${T0},${T0 + 3000}&mode=before`,
  '/coverage',
  '/heatmap?columns=40',
  '/stream?speed=max&depth=3',
  '/export',
  '/export?format=csv',
  '/export?format=parquet',
  '/export?format=arrow&shape=books&numbers=decimal',
  '/export?format=segments',
  '/quotes?order=desc',
  '/prices?outcome=up',
];
/** A request for every kind of record, and others. */
export const QUESTIONS: readonly string[] = [
  ...[BOOKS, RECORDED, ETH, SOL].flatMap((market) =>
    KINDS.map((kind) => `/v1/${market.symbol}/markets/${market.conditionId}${kind}`),
  ),
  ...['btc', 'eth', 'sol', 'xrp', 'nosuch'].flatMap((coin) => [`/v1/${coin}/markets`, `/v1/${coin}/prices?limit=7`]),
  '/v1/coins',
  `/v1/coins?asOf=${T0 + 5000}`,
  `/v1/btc/markets?recorded=true&include=counts&asOf=${T0 + 5000}`,
  '/v1/btc/days',
  `/v1/btc/midpoints?markets=${BOOKS.slug}&points=7`,
  '/v1/billing/tiers',
  '/v1/nothing',
  '/nothing',
  '/healthz',
  '/readyz',
  '/v1/btc/markets?limit=1&limit=2',
  '/v1/btc/markets?unknown=1',
  '/v1/btc/markets?limit=%ZZ',
  `/v1/btc/markets/${BOOKS.conditionId}/snapshots?from=2&to=1`,
];
