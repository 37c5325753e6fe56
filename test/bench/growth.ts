import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, issueKey, startServer } from '../support/executable.ts';
import { ROUTES } from '../support/routes.ts';
import { GROWTH_COIN, type GrowthArchive, growthArchive, statementOf } from './growth-archive.ts';
import { figure, type Goal, type Section, table, times } from './report.ts';
import { spreadOf } from './rounds.ts';

/** What every command costs with almost no markets is subtracted before it is divided by the markets. */
const [NONE, FEW, MORE, MANY] = [30, 3000, 12_000, 300_000] as const;
const RATIO_MAX = 1.3;
/** 12,000 markets are four times 3,000. */
const MORE_RATIO_MAX = 4.4;
const MINUTES_MAX = 10;
const TIMED = ['verify', 'backup', 'restore'];
const RUNS = 5;
/** Small archives differ by a fraction of a second from an empty one: what a run takes more or less must not decide. */
const SHORT_RUNS = 15;
/** Five rounds of them ask for fewer markets than the smaller archive has of the coin: no answer is from a cache. */
const REQUESTS = 140;
const ROUNDS = 5;
/** Paths without a key have a limit for each address. */
const ANONYMOUS = /^\/(?!v1\/(?!billing\/tiers))/;
/** Routes that count or search all markets of a coin, or of all coins. */
const READING_ALL = ['coins', 'days', 'markets?search='];

interface Place {
  readonly archive: GrowthArchive;
  /** A copy of the archive that may be changed. */
  readonly copy: string;
  /** A directory that is empty before each command. */
  readonly scratch: string;
  /** An export and a backup of the archive. */
  readonly exported: string;
  readonly backup: string;
  /** The slug of a market in the middle. */
  readonly slug: string;
}

interface Measured {
  readonly command: readonly string[];
  /** The executable's arguments. Its data directory is the archive, unless they name another one. */
  readonly args: (place: Place) => readonly string[];
}

const on = (text: string, args: (place: Place) => readonly string[] = () => []) => ({ command: text.split(' '), args });
/** The commands that go over all markets. */
const OVER_ALL: readonly Measured[] = [
  on('verify'),
  on('backup', ({ scratch }) => [join(scratch, 'new')]),
  on('backup --keep 1', ({ scratch }) => [scratch]),
  on('restore', ({ backup, scratch }) => [backup, '--data', join(scratch, 'new')]),
  on('export', ({ scratch }) => ['-o', join(scratch, 'new.ndjson')]),
  on('export --format segments', ({ scratch }) => ['-o', join(scratch, 'new.segments')]),
  on('import', ({ exported, scratch }) => [exported, '--data', join(scratch, 'new')]),
  on('import --dry-run', ({ exported }) => [exported]),
  on('status'),
  on('status --records'),
  on('doctor'),
  on('markets --recorded --limit 1', ({ archive }) => ['--skip', String(archive.markets - 1)]),
  on('delete --dry-run --before 2030-01-01 --all'),
  on('delete --before 2030-01-01 --all', ({ copy }) => ['--data', copy]),
];
/** The commands that do not. */
const OVER_FEW: readonly Measured[] = [
  on('markets'),
  on('show', ({ slug }) => [slug]),
  on('plot', ({ slug, scratch }) => [slug, '-o', join(scratch, 'new.svg')]),
  on('export --market', ({ slug, scratch }) => [slug, '-o', join(scratch, 'new.ndjson')]),
  on('verify --market', ({ slug }) => [slug]),
  on('delete --dry-run --market', ({ slug }) => [slug]),
  on('key create --tier pro'),
  on('key list'),
  on('account list'),
  on('tier list'),
  on('usage'),
  on('audit'),
  on('config check'),
];

interface Cost {
  readonly cpuSeconds: number;
  readonly seconds: number;
  readonly megabytes: number;
}

type Costs = ReadonlyMap<number, Cost>;

export interface GrowthFigures {
  readonly overAll: ReadonlyMap<string, Costs>;
  readonly overFew: ReadonlyMap<string, Costs>;
  /** Microseconds of a request by its route. */
  readonly routes: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Milliseconds from the start to the first answer. */
  readonly starts: ReadonlyMap<number, number>;
}

/** Measures every command and every route with 3,000 and with 300,000 recorded markets. */
export async function measureGrowth(say: (line: string) => void): Promise<GrowthFigures> {
  using directory = temporaryDirectory();
  const places = new Map<number, Place>();
  for (const size of [NONE, FEW, MORE, MANY]) {
    places.set(size, await placeOf(growthArchive(size), join(directory.path, String(size))));
    say(`  ${size} markets`);
  }
  const measured = async (list: readonly Measured[], sizes: readonly number[], runs: (size: number) => number) => {
    const all = new Map<string, Costs>();
    for (const one of list) {
      const costs = new Map<number, Cost>();
      for (const size of sizes) costs.set(size, median(await costsOf(one, places.get(size)!, runs(size))));
      const name = one.command.join(' ');
      all.set(name, costs);
      say(`  ${name}: ${[...costs].map(([size, { cpuSeconds }]) => `${size} ${cpuSeconds.toFixed(2)} s`).join(', ')}`);
    }
    return all;
  };
  const overFew = await measured(OVER_FEW, [FEW, MANY], () => RUNS);
  const { routes, starts } = await measureRoutes(places, say);
  const overAll = await measured(OVER_ALL, [NONE, FEW, MORE, MANY], (size) =>
    size === MANY ? 1 : size === MORE ? RUNS : SHORT_RUNS,
  );
  return { overAll, overFew, routes, starts };
}

async function placeOf(archive: GrowthArchive, directory: string): Promise<Place> {
  mkdirSync(directory);
  const [copy, scratch] = [join(directory, 'copy'), join(directory, 'scratch')];
  const place = {
    ...{ archive, copy, scratch },
    exported: join(directory, 'exported.ndjson'),
    backup: join(directory, 'backup'),
    slug: statementOf(middle(archive)).slug,
  };
  const { data } = archive;
  await run(['export', '-o', place.exported, '--data', data]);
  await run(['backup', place.backup, '--data', data]);
  return place;
}

/** The number of a market of the first coin, in the middle of its list. */
function middle({ markets }: GrowthArchive): number {
  return Math.floor(markets / 8) * 4;
}

async function costsOf({ command, args }: Measured, place: Place, runs: number): Promise<Cost[]> {
  const costs: Cost[] = [];
  for (let nth = 0; nth < runs; nth += 1) {
    rmSync(place.scratch, { recursive: true, force: true });
    mkdirSync(place.scratch, { recursive: true });
    const own = args(place);
    if (own.includes(place.copy)) {
      rmSync(place.copy, { recursive: true, force: true });
      cpSync(place.archive.data, place.copy, { recursive: true });
    }
    const data = own.includes('--data') ? [] : ['--data', place.archive.data];
    costs.push(await run([...command, ...own, ...data]));
  }
  return costs;
}

async function run(args: readonly string[]): Promise<Cost> {
  const startMs = performance.now();
  const child = Bun.spawn([EXECUTABLE, ...args], { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
  const errors = await new Response(child.stderr).text();
  const code = await child.exited;
  // 3: doctor found something, which every archive of this bench has.
  if (code !== 0 && code !== 3) throw new Error(`${args.join(' ')} ended with ${code}: ${errors}`);
  const { cpuTime, maxRSS } = child.resourceUsage()!;
  const seconds = (performance.now() - startMs) / 1000;
  return { cpuSeconds: Number(cpuTime.total) / 1e6, seconds, megabytes: maxRSS / 1024 ** 2 };
}

function median(costs: readonly Cost[]): Cost {
  return costs.toSorted((a, b) => a.cpuSeconds - b.cpuSeconds)[Math.floor(costs.length / 2)]!;
}

/** The servers of both archives run at once, and are asked alternately. */
async function measureRoutes(places: ReadonlyMap<number, Place>, say: (line: string) => void) {
  await using stack = new AsyncDisposableStack();
  const starts = new Map<number, number>();
  const asked: { readonly size: number; readonly ask: (path: string) => Promise<number>; readonly markets: number }[] =
    [];
  for (const size of [FEW, MANY]) {
    const { data, markets } = places.get(size)!.archive;
    const { key } = await issueKey(data);
    const taken: number[] = [];
    for (let nth = 0; nth < RUNS; nth += 1) {
      const startMs = performance.now();
      await using server = await startServer(data);
      await fetch(`${server.origin}/readyz`);
      taken.push(performance.now() - startMs);
    }
    starts.set(size, spreadOf(taken).median);
    const server = stack.use(await startServer(data));
    const ask = async (path: string): Promise<number> => {
      const startNs = Bun.nanoseconds();
      const answer = await fetch(`${server.origin}${path}`, { headers: { authorization: `Bearer ${key}` } });
      await answer.arrayBuffer();
      if (answer.status === 429) {
        await Bun.sleep(Number(answer.headers.get('retry-after')) * 1000);
        return await ask(path);
      }
      if (!answer.ok) throw new Error(`${path} answers ${answer.status}`);
      return (Bun.nanoseconds() - startNs) / 1000;
    };
    asked.push({ size, ask, markets });
  }
  const routes = new Map<string, ReadonlyMap<number, number>>();
  for (const [name, pathOf] of pathsByRoute()) {
    const requests = READING_ALL.includes(name) || ANONYMOUS.test(pathOf(0, 0)) ? REQUESTS / 20 : REQUESTS;
    const rounds = new Map(asked.map(({ size }): [number, number[]] => [size, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { size, ask, markets } of asked) {
        const micros: number[] = [];
        for (let nth = 0; nth < requests; nth += 1)
          micros.push(await ask(pathOf((4 * ((round * requests + nth) * 7919)) % markets, round * requests + nth)));
        rounds.get(size)!.push(spreadOf(micros).median);
      }
    }
    const medians = new Map([...rounds].map(([size, micros]) => [size, Math.min(...micros)]));
    routes.set(name, medians);
    say(`  ${name}: ${[...medians.values()].map((micros) => `${micros.toFixed(0)} µs`).join(', ')}`);
  }
  return { routes, starts };
}

/** For every GET route that has no payments, no account and no end: its path for a market and a number that no other request has. */
function pathsByRoute(): Map<string, (market: number, nth: number) => string> {
  const paths = new Map<string, (market: number, nth: number) => string>();
  for (const [name, { path, method, query }] of Object.entries(ROUTES)) {
    if (method !== 'get' || name === 'stream' || path.startsWith('/v1/billing/x402') || path === '/v1/billing/history')
      continue;
    paths.set(name, (market, nth) => {
      const { conditionId, startMs, endMs } = statementOf(market);
      const values: Readonly<Record<string, string>> = {
        coin: GROWTH_COIN,
        conditionId,
        ts: String(startMs + nth),
        page: 'replay',
      };
      const given: Readonly<Record<string, string>> = {
        markets: conditionId,
        ts: String(startMs + nth),
        // Answers are not repeated, so none is from a cache.
        ...(path.includes('{conditionId}')
          ? { from: String(startMs), to: String(endMs - (nth % 1000)) }
          : { to: String(endMs + nth), limit: '100' }),
        ...(name === 'coins' ? { asOf: String(Date.now() + nth) } : {}),
        ...(['market', 'coverage', 'midpoints'].includes(name) ? { asOf: String(endMs - 1000 - nth) } : {}),
      };
      const asked = Object.entries(given).filter(
        ([parameter]) => query.includes(parameter) && !path.includes(`{${parameter}}`),
      );
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => values[parameter]!);
      return `${filled}${asked.length === 0 ? '' : `?${new URLSearchParams(asked)}`}`;
    });
  }
  paths.set('markets?search=', (_, nth) => `/v1/${GROWTH_COIN}/markets?search=nothing-${nth}`);
  paths.set(
    'markets of one timeframe, recorded',
    (market) => `/v1/${GROWTH_COIN}/markets?tf=5m&recorded=true&limit=100&to=${statementOf(market).startMs}`,
  );
  paths.set('/view', () => '/view');
  paths.set('/pricing', () => '/pricing');
  return paths;
}

/** Milliseconds of CPU for each market, without what the command needs for an archive of almost none. */
function perMarket(costs: Costs, size: number): number {
  return (1000 * (costs.get(size)!.cpuSeconds - costs.get(NONE)!.cpuSeconds)) / (size - NONE);
}

export function growthSection({ overAll, overFew, routes, starts }: GrowthFigures): Section {
  const all = [...overAll].map(([name, costs]) => ({
    name,
    costs,
    ratio: perMarket(costs, MANY) / perMarket(costs, FEW),
    more: costs.get(MORE)!.cpuSeconds / costs.get(FEW)!.cpuSeconds,
  }));
  const few = [
    ...[...overFew].map(([name, costs]) => ({
      name,
      from: 1000 * costs.get(FEW)!.cpuSeconds,
      to: 1000 * costs.get(MANY)!.cpuSeconds,
    })),
    { name: 'serve, to the first answer', from: starts.get(FEW)!, to: starts.get(MANY)! },
    ...[...routes]
      .filter(([name]) => !READING_ALL.includes(name))
      .map(([name, micros]) => ({ name: `GET ${name}`, from: micros.get(FEW)! / 1000, to: micros.get(MANY)! / 1000 })),
  ];
  const searching = READING_ALL.map((name) => {
    const micros = routes.get(name)!;
    const [from, to] = [micros.get(FEW)! / FEW, micros.get(MANY)! / MANY];
    return { name: `GET ${name}`, from, to };
  });
  const allTable = table(
    [
      'command',
      `s, ${FEW}`,
      `s, ${MORE}`,
      `s, ${MANY}`,
      `elapsed, ${MANY}`,
      `µs a market, ${FEW}`,
      `µs a market, ${MANY}`,
      'ratio',
      `MB, ${FEW}`,
      `MB, ${MANY}`,
    ],
    all.map(({ name, costs, ratio }) => [
      name,
      ...[FEW, MORE, MANY].map((size) => figure(costs.get(size)!.cpuSeconds)),
      figure(costs.get(MANY)!.seconds),
      ...[FEW, MANY].map((size) => figure(1000 * perMarket(costs, size))),
      times(ratio),
      ...[FEW, MANY].map((size) => figure(costs.get(size)!.megabytes)),
    ]),
  );
  const fewTable = table(
    ['what', `ms, ${FEW}`, `ms, ${MANY}`, 'ratio'],
    few.map(({ name, from, to }) => [name, figure(from), figure(to), times(to / from)]),
  );
  const searchTable = table(
    ['route', `µs a market, ${FEW}`, `µs a market, ${MANY}`, 'ratio'],
    searching.map(({ name, from, to }) => [name, figure(from), figure(to), times(to / from)]),
  );
  const goals: Goal[] = [
    ...all.map(({ name, ratio }) => atMost(`${name}: CPU of a market, ${MANY} : ${FEW} markets`, ratio, RATIO_MAX)),
    ...searching.map(({ name, from, to }) =>
      atMost(`${name}: time of a market, ${MANY} : ${FEW} markets`, to / from, RATIO_MAX),
    ),
    ...few.map(({ name, from, to }) => atMost(`${name}: ${MANY} : ${FEW} markets`, to / from, RATIO_MAX)),
    ...all
      .filter(({ name }) => TIMED.includes(name))
      .map(({ name, more }) => atMost(`${name}: CPU, ${MORE} : ${FEW} markets`, more, MORE_RATIO_MAX)),
    ...all
      .filter(({ name }) => TIMED.includes(name))
      .map(({ name, costs }) => {
        const minutes = costs.get(MANY)!.seconds / 60;
        return {
          figure: `${name} of ${MANY} markets`,
          required: `< ${MINUTES_MAX} min`,
          measured: `${minutes.toFixed(1)} min`,
          met: minutes < MINUTES_MAX,
        };
      }),
  ];
  const text = `## Growth

Archives of ${FEW}, ${MORE} and ${MANY} recorded and resolved markets of four coins, each with 8 books, their midpoints, a trade, and the settlement prices. CPU is
that of the whole process (median of ${RUNS}; ${MANY} markets once); CPU of a market is without that of an archive of ${NONE}. Routes are asked one
request at a time, ${REQUESTS} times in each of ${ROUNDS} rounds, and no answer is from a cache; the best round's median counts.

What goes over all markets:

${allTable}

${searchTable}

What does not:

${fewTable}`;
  return { text, goals };
}

function atMost(figureName: string, ratio: number, max: number): Goal {
  return { figure: figureName, required: `≤ ${times(max)}`, measured: times(ratio), met: ratio <= max };
}
