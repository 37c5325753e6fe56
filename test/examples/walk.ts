// Prints 'timestamp id' of every snapshot of a market: BOOKREEL_KEY=br_live_… bun walk.ts btc SLUG [RECORDS-IN-A-PAGE]
// Needs the package of /sdk. Node 22.18 and later run this file directly.
import { Client } from '@bookreel/client';

const [coin, market, limit] = process.argv.slice(2);
try {
  if (!process.env.BOOKREEL_KEY || coin === undefined || market === undefined) {
    throw new Error('set BOOKREEL_KEY, name coin and market');
  }
  const client = new Client();
  const query = limit === undefined ? {} : { limit: Number(limit) };
  for await (const { timestamp, id } of client.snapshots(`${coin}/${market}`, query)) console.log(timestamp, id);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
