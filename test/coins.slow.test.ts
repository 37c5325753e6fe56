import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKey } from '../src/account/account-keys.ts';
import { changeTier, createTier } from '../src/account/tier-catalog.ts';
import { run } from '../src/cli/program.ts';
import { COIN_ALIASES, isCoin, parseCoin } from '../src/domain/coin.ts';
import { selectedCoins } from '../src/export/selection.ts';
import { replayOptionsOf } from '../src/http/replay/replay-resource.ts';
import { Replay } from '../src/replay/replay.ts';
import { tierOf } from '../src/web/admin/tier-form.tsx';
import { importMapped } from './import/mapping/mapped-import.ts';
import {
  importPaths,
  importRecords,
  NOW_MS,
  type TemporaryArchive,
  temporaryArchive,
  temporaryDirectory,
} from './support/archive.ts';
import { captured } from './support/captured.ts';
import { CONDITION_ID, START_MS, sampleCoinPrice, sampleMarket, sampleSnapshot } from './support/sample-records.ts';
import { serviceOf } from './support/service.ts';

const ALIASES = Object.entries(COIN_ALIASES).flatMap(([coin, names]) => names.map((name) => [name, coin] as const));
/** `ada` is recorded, and is not one of the venue's coins. */
const UNKNOWN = "'nosuch' is not a known coin: the known coins are ada, bnb, btc, doge, eth, hype, sol, xrp";
const RECORDED = [...Object.keys(COIN_ALIASES), 'ada'];

/** A market with a book and a reference price of each coin. */
async function filled(): Promise<TemporaryArchive> {
  const place = temporaryArchive();
  const records = RECORDED.flatMap((symbol, index) => {
    const conditionId = `0x${String(index + 1).repeat(64)}`;
    const slug = `${symbol}-updown-5m-${START_MS / 1000}`;
    const clobTokenIds = [`${index + 1}1`, `${index + 1}2`];
    return [
      sampleMarket({ conditionId, slug, symbol, clobTokenIds }),
      sampleSnapshot({ conditionId }),
      sampleCoinPrice({ symbol }),
    ];
  });
  const { total } = await importRecords(place.archive, records);
  expect(total.rejected).toBe(0);
  return place;
}

let place: TemporaryArchive;
let tiers = 0;
beforeAll(async () => {
  place = await filled();
});
afterAll(() => place[Symbol.dispose]());
const newTier = () => {
  tiers += 1;
  return { id: `tier-${tiers}`, name: 'Gold', requestsPerMinute: 60 };
};

async function command(...args: string[]): Promise<string> {
  const terminal = captured();
  const code = await run([...args, '--data', place.path], terminal);
  if (code !== 0) throw new Error(terminal.stderr().replace(/^bookreel: |\n$/g, ''));
  return terminal.stdout();
}

const coinsIn = (text: string) => [
  ...new Set([...text.matchAll(/"(?:symbol|coin)": ?"(\w+)"/g)].map(([, coin]) => coin!)),
];

async function answered(path: string): Promise<string[]> {
  const response = await serviceOf(place.archive, place.registry).get(path);
  const text = await response.text();
  if (response.status === 200) return coinsIn(text);
  throw new Error(JSON.parse(text).detail);
}

/** Everything that compares a coin with recorded ones: the coins that it finds for a word. */
const COMPARED: Readonly<Record<string, (word: string) => Promise<readonly string[]>>> = {
  'export --coin': async (word) => coinsIn(await command('export', '--coin', word)),
  'markets --coin': async (word) => coinsIn(await command('markets', '--coin', word, '--json')),
  'delete --coin': async (word) => coinsIn(await command('delete', '--coin', word, '--dry-run', '--json')),
  'a replay of coins': async (word) => {
    const options = replayOptionsOf({ coins: [word] } as Parameters<typeof replayOptionsOf>[0]);
    return new Replay(place.archive, options, { wallMs: () => NOW_MS, monotonicMs: () => 0 } as never).coins;
  },
  'markets of a path': (word) => answered(`/${word}/markets`),
  'prices of a path': (word) => answered(`/${word}/markets?asOf=${NOW_MS}`),
  'a market of a path': (word) =>
    answered(`/${word}/markets/0x${String(RECORDED.indexOf(parseCoin(word) ?? '') + 1).repeat(64)}`),
  'tier add --coins': async (word) => {
    const args = ['--name', 'Gold', '--rpm', '60', '--coins', word, '--json'];
    const tier = JSON.parse(await command('tier', 'add', newTier().id, ...args)) as { coins: string[] };
    return tier!.coins;
  },
  'tier set --coins': async (word) => {
    const tier = JSON.parse(await command('tier', 'set', 'free', '--coins', word, '--json'));
    return tier.coins;
  },
  'the form of a tier': async (word) => {
    const { archive, registry } = place;
    const form = new URLSearchParams({ id: newTier().id, name: 'Gold', rpm: '60', coin: word, routes: 'all' });
    const change = { registry, nowMs: NOW_MS };
    return createTier(change, tierOf(form), () => archive.recordedCoins.symbols()).coins ?? [];
  },
  'a key of a tier': async (word) => {
    const { archive, registry } = place;
    const change = { registry, nowMs: NOW_MS };
    const tier = { ...newTier(), coins: [word] };
    const { coins } = createTier(change, tier, () => archive.recordedCoins.symbols());
    const request = { account: 'ada@example.com', name: undefined, tier: tier.id, requestsPerMinute: undefined };
    const { key } = createKey(registry, NOW_MS, request);
    const { app } = serviceOf(archive, registry);
    const found: string[] = [];
    for (const path of RECORDED) {
      const headers = { authorization: `Bearer ${key}` };
      const { status } = await app.handle(new Request(`http://localhost/v1/${path}/markets`, { headers }));
      if (status === 200) found.push(path);
    }
    expect(found).toEqual([...coins!]);
    return found;
  },
};

describe.each(Object.entries(COMPARED))('%s', (_, find) => {
  test.each([...ALIASES, ['btc', 'btc'], ['ada', 'ada']] as const)('takes %s as %s', async (word, coin) => {
    for (const form of [word, word.toUpperCase()]) expect(await find(form)).toEqual([coin]);
  });

  test('refuses an unknown coin', async () => {
    expect(find('nosuch')).rejects.toThrow(UNKNOWN);
  });
});

const TIME = '[time]\nfield = "t"\nunit = "ms"\n';

/** Everything that stores a coin: a coin that is not known yet is stored under its own name. */
const STORED: Readonly<Record<string, (place: TemporaryArchive, word: string) => Promise<unknown>>> = {
  'a market record': ({ archive }, word) => importRecords(archive, [sampleMarket({ symbol: word })]),
  'a price record': ({ archive }, word) => importRecords(archive, [sampleCoinPrice({ symbol: word })]),
  'a mapping of prices': ({ archive }, word) => {
    const prices = '[[coin_prices]]\ncoin = "c"\nsource = { value = "binance" }\nprice = "p"';
    return importMapped(archive, `format = "csv"\n${TIME}${prices}`, `t,c,p\n${START_MS},${word},1.5\n`);
  },
  'a mapping of markets': ({ archive }, word) => {
    const market = `[market]\ncoin = { value = "${word}" }\nstart = { field = "s", unit = "ms" }\ntimeframe = { value = "5m" }`;
    const prices = '[midpoints.up]\nprice = "p"';
    return importMapped(archive, `format = "csv"\n${TIME}${market}\n${prices}`, `t,s,p\n${START_MS},${START_MS},0.5\n`);
  },
  'a list of markets': (place, word) => {
    const row = { slug: `x-${START_MS}`, conditionId: CONDITION_ID, asset: word };
    const times = { startTs: START_MS, endTs: START_MS + 300_000 };
    return imported(place, 'markets.json', JSON.stringify([{ ...row, ...times }]));
  },
  'the name of a file of prices': (place, word) =>
    imported(place, `${word}usd-chainlink-2026-04-16.csv`, `feed_ts_ms,value\n${START_MS},1.5\n`),
  'a slug': ({ archive }, word) =>
    importMapped(
      archive,
      `format = "csv"\n${TIME}[market]\nslug = "s"\n[midpoints.up]\nprice = "p"`,
      `t,s,p\n${START_MS},${word}-updown-5m-${START_MS / 1000},0.5\n`,
    ),
};

async function imported({ archive }: TemporaryArchive, name: string, content: string): Promise<void> {
  using directory = temporaryDirectory();
  const path = join(directory.path, name);
  writeFileSync(path, content);
  await importPaths(archive, path);
}

describe.each(Object.entries(STORED))('%s', (_, store) => {
  test.each([...ALIASES, ['nosuch', 'nosuch']] as const)('that says %s is stored as %s', async (word, coin) => {
    using empty = temporaryArchive();
    await store(empty, word);
    expect(empty.archive.recordedCoins.symbols()).toEqual([coin]);
  });
});

test('no word means two coins, and no name of a coin can be stored', () => {
  const words = Object.entries(COIN_ALIASES).flatMap(([coin, names]) => [coin, ...names]);
  expect(new Set(words).size).toBe(words.length);
  for (const coin of Object.keys(COIN_ALIASES)) expect([parseCoin(coin), isCoin(coin)]).toEqual([coin, true]);
  for (const [name, coin] of ALIASES) expect([parseCoin(name), isCoin(name)]).toEqual([coin, false]);
});

test('a tier keeps a coin that is not known any more, and gets no other one', () => {
  const { registry } = place;
  const change = { registry, nowMs: NOW_MS };
  changeTier(change, 'free', { coins: ['btc', 'ada'] }, () => ['ada']);
  expect(changeTier(change, 'free', { coins: ['ada', 'eth'] }).coins).toEqual(['ada', 'eth']);
  expect(() => changeTier(change, 'free', { coins: ['nosuch'] })).toThrow("'nosuch' is not a known coin");
});

test('a coin that is known and not recorded is no unknown coin', async () => {
  using small = temporaryArchive();
  await importRecords(small.archive, [sampleMarket(), sampleSnapshot()]);
  expect(() => selectedCoins(small.archive, ['doge'])).toThrow("no records of the coin 'doge': it has btc");
  const answer = await serviceOf(small.archive).get('/doge/markets');
  expect(await answer.json()).toMatchObject({ status: 404, detail: 'this coin is not recorded here' });
});
