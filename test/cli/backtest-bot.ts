import { privateKeyToAccount } from 'viem/accounts';
import { VenueBot } from '../paper/venue-bot.ts';

/** Buys 20 shares of up with the addresses and the key of its environment, prints what came of it, and waits to be ended. */
const { CLOB_API_URL = '', GAMMA_API_URL = '', PRIVATE_KEY = '' } = process.env;
const bot = await VenueBot.signedIn(CLOB_API_URL);
const [slug] = process.argv.slice(2);
const [market] = (await (await fetch(`${GAMMA_API_URL}/markets?slug=${slug}`)).json()) as [{ clobTokenIds: string }];
const [up] = JSON.parse(market.clobTokenIds) as [string, string];
const { body } = await bot.order(bot.limit(up, 'BUY', 0.95, 20));
const { status, errorMsg } = body as { readonly status: string; readonly errorMsg: string };
console.log(JSON.stringify({ status, errorMsg, address: privateKeyToAccount(PRIVATE_KEY as `0x${string}`).address }));
setInterval(() => undefined, 1000);
