import { builtAsset } from '../../http/pages/built-asset.ts' with { type: 'macro' };
import type { BuiltAsset } from '../../http/pages/built-asset.ts';

/** The list of recordings, and the page of a market. */
export const VIEW_SCRIPT: BuiltAsset = builtAsset('web/browser/view/view.ts');

/** Reads segments in a worker of the page of a market. */
export const WORKER_SCRIPT: BuiltAsset = builtAsset('web/browser/view/segment-worker.ts');
