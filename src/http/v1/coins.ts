import { Elysia } from 'elysia';
import { Type } from 'typebox';
import type { InstantMs } from '../../domain/instant.ts';
import { CoinResource, coinResource, type RecordedCoin } from '../../domain/recorded-coin.ts';
import { dataOf, described } from '../openapi/described.ts';
import { parameters } from '../parameters/parameter.ts';
import { QUERY } from '../parameters/query.ts';
import { negotiate } from '../response/responder.ts';
import type { ControllerDeps } from './controller.ts';

/** Counting the segments of this number of markets before an instant takes a few milliseconds. */
const MARKETS_AT_ONCE = 50;

const CoinList = dataOf(
  'CoinList',
  'The coins of the archive that the key’s tier grants.',
  Type.Array(CoinResource, { description: 'The coins, by symbol.' }),
);

/** The coins of an archive that the key's tier grants, with counts of their records. */
export function coinsController({ access, archive, responder, nextTurn }: ControllerDeps) {
  const { database, prices, snapshotTotals, recordedCoins } = archive;

  const coinAsOf = async (
    symbol: string,
    asOfMs: InstantMs,
    keyId: string | undefined,
  ): Promise<RecordedCoin | undefined> => {
    const { coin, open, isKnown } = database.readShared(() => {
      const total = snapshotTotals.ofCoin(symbol, asOfMs);
      return { ...total, isKnown: total.coin.markets > 0 || prices.knowsCoin(symbol, asOfMs) };
    });
    let { snapshots, lastMs = 0 } = coin;
    for (let from = 0; from < open.length; from += MARKETS_AT_ONCE) {
      await nextTurn(keyId);
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

  return new Elysia({ name: 'coins' }).use(access).get(
    '/v1/coins',
    async ({ exchange, accessCheck, asOfMs }) => {
      const data: RecordedCoin[] = [];
      if (asOfMs === undefined) {
        const all = database.readShared(() => recordedCoins.all());
        data.push(...all.filter(({ symbol }) => accessCheck.grantsCoin(symbol)));
      } else {
        for (const symbol of database
          .readShared(() => recordedCoins.symbols())
          .filter((coin) => accessCheck.grantsCoin(coin))) {
          const coin = await coinAsOf(symbol, asOfMs, exchange.keyId);
          if (coin !== undefined) data.push(coin);
        }
      }
      return responder.document({ data: data.map(coinResource) }, negotiate(exchange));
    },
    {
      grant: 'markets',
      query: parameters({ asOf: QUERY.asOf }),
      detail: described('coins', {
        summary: 'Recorded coins',
        description:
          'The coins that the key’s tier grants, by symbol, each with its number of markets and snapshots, and the timestamps of its first and last snapshot. Coins that have only reference prices are listed too.',
        answer: CoinList,
        examples: { coins: '/v1/coins', asOf: '/v1/coins?asOf=2026-01-08T10:31:40Z' },
      }),
    },
  );
}
