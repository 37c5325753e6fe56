import { builtAsset } from '../../http/pages/built-asset.ts' with { type: 'macro' };
import type { BuiltAsset } from '../../http/pages/built-asset.ts';

/** The list of recordings. */
export const BROWSE_SCRIPT: BuiltAsset = builtAsset('web/browser/view/browse.tsx');

/** One market. */
export const MARKET_SCRIPT: BuiltAsset = builtAsset('web/browser/view/market.tsx');

/** Reads segments in a worker of the page of a market. */
export const WORKER_SCRIPT: BuiltAsset = builtAsset('web/browser/view/segment-worker.ts');
