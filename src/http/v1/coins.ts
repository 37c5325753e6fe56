import { Elysia } from 'elysia';
import type { InstantMs } from '../../domain/instant.ts';
import { coinResource, type RecordedCoin } from '../../domain/recorded-coin.ts';
import { negotiate } from '../response/responder.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { type ControllerDeps, parametersOf } from './controller.ts';

/** The segments before the instant are counted for each of them: a few milliseconds of work. */
const MARKETS_AT_ONCE = 50;

/** The coins of an archive that the key's tier grants, and how much is recorded of each. */
export function coinsController({ gate, archive, responder, nextTurn }: ControllerDeps) {
  const { database, prices, snapshotTotals, recordedCoins } = archive;

  const coinAsOf = async (symbol: string, asOfMs: InstantMs): Promise<RecordedCoin | undefined> => {
    const { coin, open, isKnown } = database.readShared(() => {
      const total = snapshotTotals.ofCoin(symbol, asOfMs);
      return { ...total, isKnown: total.coin.markets > 0 || prices.knowsCoin(symbol, asOfMs) };
    });
    let { snapshots, lastMs = 0 } = coin;
    for (let from = 0; from < open.length; from += MARKETS_AT_ONCE) {
      await nextTurn();
      database.readShared(() => {
        for (const key of open.slice(from, from + MARKETS_AT_ONCE)) {
          const until = snapshotTotals.until(key, asOfMs);
          snapshots += until.count;
          lastMs = Math.max(lastMs, until.lastMs);
        }
      });
    }
    return isKnown ? { ...coin, snapshots, lastMs: coin.firstMs === undefined ? undefined : lastMs } : undefined;
  };

  return new Elysia({ name: 'coins' }).use(gate).get(routerPath('coins'), async ({ exchange, accessCheck }) => {
    const { asOfMs } = parametersOf(exchange, ROUTES.coins, () => ({}));
    const data: RecordedCoin[] = [];
    if (asOfMs === undefined) {
      const all = database.readShared(() => recordedCoins.all());
      data.push(...all.filter(({ symbol }) => accessCheck.grantsCoin(symbol)));
    } else {
      for (const symbol of database.readShared(() => recordedCoins.symbols()).filter(accessCheck.grantsCoin)) {
        const coin = await coinAsOf(symbol, asOfMs);
        if (coin !== undefined) data.push(coin);
      }
    }
    return responder.document({ data: data.map(coinResource) }, negotiate(exchange));
  });
}
