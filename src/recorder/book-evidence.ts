import { isFields, parsedJson } from '../record/fields.ts';
import type { WatchedAsset } from './watched-asset.ts';
import type { Ask } from './web-connection.ts';

/** The venue takes this number of assets in a request. */
const ASSETS_MAX = 500;

/**
 * Asks for the present books of assets, and returns the hashes of those that are newer than what the sockets brought, by asset. The
 * books themselves are not recorded: the venue answers some from a cache. Throws an Error that says why there is no answer.
 */
export async function newerBooks(
  url: string,
  assets: readonly WatchedAsset[],
  ask: Ask,
): Promise<ReadonlyMap<string, string>> {
  const newer = new Map<string, string>();
  for (let start = 0; start < assets.length; start += ASSETS_MAX) {
    const asked = assets.slice(start, start + ASSETS_MAX);
    const answer = await ask(`${url}/books`, JSON.stringify(asked.map(({ id }) => ({ token_id: id }))));
    if (answer.status !== 200) throw new Error(`the venue answered ${answer.status}`);
    const known = new Map(asked.map((asset) => [asset.id, asset]));
    const books = parsedJson(await answer.text());
    for (const book of Array.isArray(books) ? books.filter(isFields) : []) {
      const { asset_id: id, hash, timestamp } = book;
      const asset = typeof id === 'string' ? known.get(id) : undefined;
      if (asset === undefined || typeof hash !== 'string') continue;
      if (hash !== asset.lastHash && Number(timestamp) > asset.lastMs) newer.set(asset.id, hash);
    }
  }
  return newer;
}
