import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../src/cli/program.ts';
import type { OrderTerms } from '../../src/paper/paper-order.ts';
import { DEFAULT_RULES } from '../../src/trading/paper-rules.ts';
import { EVERYTHING, startReplaying } from '../http/replay/replaying.ts';
import { importRecords, temporaryDirectory } from '../support/archive.ts';
import { captured } from '../support/captured.ts';
import { sampleMarket, samplePrice, sampleSnapshot } from '../support/sample-records.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const [BOOK, LATER] = ['2026-04-16T07:10:04.123Z', '2026-04-16T07:10:14.000Z'];
const BUY: OrderTerms = {
  ...{ id: '0xfeed', outcome: 'up', side: 'buy', type: 'GTC', price: 0.52, amount: 10_000_000 },
  ...{ isPostOnly: false, expirationMs: undefined },
};

test('paper explain shows an order, or a fill, with the record that caused it, of a replay and of a report.', async () => {
  await using replaying = await startReplaying((archive) =>
    importRecords(archive, [
      ...[sampleMarket(), sampleSnapshot()],
      samplePrice({ timestamp: LATER, price: 0.5, size: 40, side: 'sell' }),
    ]),
  );
  const replay = replaying.replays.create(EVERYTHING);
  const desk = replaying.desks.open(replay, { ...DEFAULT_RULES, latencyMs: 0, takerDelayMs: 0, fees: 'none' });
  const market = replaying.archive.markets.named(sampleMarket().slug)[0]!;
  const account = desk.account(ADDRESS);
  await desk.send(account, market, BUY);
  await desk.send(account, market, {
    ...BUY,
    id: '0xbeef',
    price: 0.5,
    amount: 20_000_000,
    type: 'GTD',
    expirationMs: Date.parse(BOOK) + 200_000,
  });
  await desk.send(account, market, { ...BUY, id: '0xdead', price: 0.9, amount: 5_000_000_000, isPostOnly: true });
  replay.seek(Date.parse(LATER));
  const ask = async (...words: string[]) => {
    const terminal = captured();
    const code = await run([...words, '--url', replaying.origin], terminal);
    return { code, text: terminal.stdout() + terminal.stderr() };
  };
  expect((await ask('paper', 'accounts')).text).toBe(
    `address                                     cash     reserved  realised  orders  open
${ADDRESS}  991.175  6.375     0         3       1
`,
  );
  expect((await ask('paper', 'explain', '0xfeed')).text).toBe(`order 0xfeed of ${ADDRESS}
  buys 10 shares of up at 0.52 or better, GTC, ${sampleMarket().slug}
  ${BOOK}  fill 1 as taker: 7.25 shares at 0.52, 3.77 dollars, fee 0; 2.75 left
    snapshot 1 of ${BOOK}, recorded for up: 7.25 shares at 0.52 in the book of the order's outcome
    the account had taken 0 of them; the order takes from the rest
  ${BOOK}  rests with 2.75 open, behind 0 recorded shares
  ${LATER}  fill 2 as maker: 2.75 shares at 0.52, 1.43 dollars, fee 0; 0 left
    trade 2 of ${LATER}: a taker sells 40 shares of up at 0.5
    0 recorded shares were ahead of the order; it gets what the trade has beyond them
  ${LATER}  matched, 0 unfilled
`);
  const fill = await ask('paper', 'explain', '3');
  expect(fill.text).toContain(`order 0xbeef of ${ADDRESS}
  buys 20 shares of up at 0.5 or better, GTD, until 60 s before 2026-04-16T07:13:24.123Z, ${sampleMarket().slug}
  ${LATER}  fill 3 as maker: 7.25 shares at 0.5, 3.625 dollars, fee 0; 12.75 left
    trade 2 of ${LATER}: a taker sells 40 shares of up at 0.5
    30 recorded shares were ahead of the order; it gets what the trade has beyond them
`);
  expect((await ask('paper', 'explain', '0xdead')).text).toContain(
    'refused: it needs 4500, the account has 996.23, of which',
  );
  expect(await ask('paper', 'explain', '9')).toMatchObject({
    code: 1,
    text: expect.stringContaining('no account has'),
  });
  const found = JSON.parse((await ask('paper', 'explain', '3', '--json')).text) as object[];
  using directory = temporaryDirectory();
  const report = join(directory.path, 'report.json');
  writeFileSync(report, JSON.stringify({ accounts: found }));
  expect((await ask('paper', 'explain', '3', '--report', report)).text).toBe(fill.text);
  expect((await ask('paper', 'explain', '3', '--report', report, '--account', '0x1')).code).toBe(1);
  for (const other of ['{"accounts":[1]}', '{"accounts":[{"address":"0x1","events":[{"fill":{"number":3}}]}]}']) {
    writeFileSync(report, other);
    expect((await ask('paper', 'explain', '3', '--report', report)).text).toContain('no report of a backtest');
  }
  const missing = await ask('paper', 'explain', '3', '--report', join(directory.path, 'missing.json'));
  expect(missing.text).toMatch(/^bookreel: there is no report '.*missing\.json': name a file that exists\n$/);
});
