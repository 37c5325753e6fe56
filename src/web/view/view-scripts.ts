import { builtAsset, builtAssets } from '../../http/pages/built-asset.ts' with { type: 'macro' };
import type { BuiltAsset } from '../../http/pages/built-asset.ts';

/** The script of the pages, which loads the others; one for the list of recordings, one for the page of a market, and what both use. */
export const VIEW_SCRIPTS: readonly BuiltAsset[] = builtAssets('web/browser/view/view.ts');

/** Reads segments in a worker of the page of a market. */
export const WORKER_SCRIPT: BuiltAsset = builtAsset('web/browser/view/segment-worker.ts');

/** The scripts of a page: they are loaded together, without a wait for the first one. */
export function viewScripts(page: 'recordings' | 'market'): readonly BuiltAsset[] {
  const other = page === 'market' ? 'show-recordings-' : 'show-market-';
  return VIEW_SCRIPTS.filter(({ name }) => !name.startsWith(other));
}
