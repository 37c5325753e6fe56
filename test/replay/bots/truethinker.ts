import type { Json, StandIn } from './bot-network.ts';
import { listOf } from './bot-parsing.ts';

const HOUR_MS = 3_600_000;

/**
 * Python, with py-clob-client. One pass over Gamma's markets whose `startDate` is in a span that its user sets, 200 a page, in the
 * order of that date; those of BTC 5m get an order on each side. The library asks for tick size and fee first, and refuses to sign
 * if the fee is not the one of the market, `makerBaseFee`, and neither is zero.
 */
export const truethinker: StandIn = {
  repository: 'truethinker/polyredeembot',
  commit: '8e74376d5523398cc69688591d0c1ffd728d9559',
  async start(network) {
    const clob = (path: string) => network.json(`https://clob.polymarket.com/${path}`);
    return async () => {
      // Markets are listed a day before their window: that of the present and those of the next hour.
      const listedMs = Date.now() - 24 * HOUR_MS;
      const [min, max] = [listedMs - 300_000, listedMs + HOUR_MS].map((ms) => new Date(ms).toISOString());
      const markets: Json[] = [];
      for (let offset = 0; ; offset += 200) {
        const order = 'order=startDate&ascending=true&closed=false&archived=false';
        const page = await network.json(
          `https://gamma-api.polymarket.com/markets?limit=200&offset=${offset}&${order}&start_date_min=${min}&start_date_max=${max}`,
        );
        markets.push(...page.filter(({ slug }: Json) => slug.startsWith('btc-updown-5m-')));
        if (page.length < 200) break;
      }
      const slugs: string[] = [];
      for (const market of markets.slice(0, 2)) {
        if (market.closed || market.acceptingOrders === false) continue;
        const fee = Number(market.makerBaseFee ?? 0);
        for (const tokenId of listOf(market.clobTokenIds)) {
          const { minimum_tick_size } = await clob(`tick-size?token_id=${tokenId}`);
          const { base_fee } = await clob(`fee-rate?token_id=${tokenId}`);
          if (Number(minimum_tick_size) !== Number(market.orderPriceMinTickSize)) throw new Error('invalid tick size');
          if (base_fee > 0 && fee > 0 && base_fee !== fee) throw new Error('invalid fee rate');
        }
        slugs.push(market.slug);
      }
      return slugs.length === 0 ? undefined : { order: 'both', slugs };
    };
  },
};
