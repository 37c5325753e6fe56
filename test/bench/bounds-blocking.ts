import { STREAMED_FORMATS } from '../../src/recording/export/export-format.ts';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { NOW_MS } from '../support/archive.ts';
import { serviceOf } from '../support/service.ts';
import { CROWDED_MARKET, CROWDED_MARKETS, GAPPY_MARKET, GAPS, WORST_CASES } from './bounds-archive.ts';
import type { Probe } from './bounds-probe.ts';
import { figure } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const ROUNDS = 5;
const IDLE_MS = 50;
/** Of an export so much is read, for so long: its steps are alike. */
const READ_BYTES_MAX = 16 * 1024 * 1024;
const READ_MS_MAX = 1000;
const ENCODINGS = ['identity', 'gzip', 'zstd'] as const;
const TYPES = { json: 'application/json', msgpack: 'application/msgpack' } as const;

/** One form of a question. */
interface Form {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A question in all its forms, of which the worst one counts. */
export interface Question {
  readonly name: string;
  /** A market that changes whenever this is asked, so that no answer comes from memory. */
  readonly market: AskedMarket;
  readonly forms: readonly Form[];
}

export interface AskedMarket {
  readonly coin: string;
  /** conditionId or slug. */
  readonly name: string;
}

/** For how long nothing else is served while one answer is made, in milliseconds. */
export interface Blocking {
  readonly name: string;
  /** The worst of its forms, in this process. */
  readonly form: string;
  /** Bytes of that form's answer, as far as it was read. */
  readonly bytes: number;
  /** Between two turns of the event loop, in this process. */
  readonly inProcess: Spread;
  /** In that form, the longest that another connection of the executable waited, less what it waits when nothing is asked. */
  readonly overHttp: number;
}

/** The executable under probe, serving the archive that is asked about. */
export interface Probed {
  readonly origin: string;
  readonly key: string;
  readonly probe: Probe;
}

/** All there is to be asked about a market; `atMs` is a time within its snapshots. */
export function questionsAboutMarket(books: string, market: AskedMarket, atMs: number): Question[] {
  const path = pathOf(market);
  return [
    { name: `page of 1000, ${books}`, market, forms: pageForms(`${path}/snapshots?limit=1000`) },
    { name: `nearest, ${books}`, market, forms: answerForms(`${path}/snapshots/at/${atMs}`) },
    { name: `quotes, page of 1000, ${books}`, market, forms: pageForms(`${path}/quotes?limit=1000`) },
    { name: `prices, page of 1000, ${books}`, market, forms: pageForms(`${path}/prices?limit=1000`) },
    coverageOf(books, market),
    stepOfExport(books, market),
  ];
}

export function questionsAboutWorstCases(): Question[] {
  const ofMarkets = WORST_CASES.flatMap(({ name, market, atMs }) =>
    questionsAboutMarket(name, market, atMs).filter((question) => !/^(?:quotes|prices)/.test(question.name)),
  );
  const lists = [0, 100_000, CROWDED_MARKETS - 1000].map((skip) => ({
    name: `market list of 1000 behind ${skip} others`,
    market: CROWDED_MARKET,
    forms: answerForms(`/v1/${CROWDED_MARKET.coin}/markets?limit=1000&skip=${skip}`),
  }));
  const gaps = `${GAPS} gaps`;
  return [...ofMarkets, ...lists, coverageOf(gaps, GAPPY_MARKET), stepOfExport(gaps, GAPPY_MARKET)];
}

function coverageOf(what: string, market: AskedMarket): Question {
  const forms = [{ name: 'json identity', path: `${pathOf(market)}/coverage`, headers: {} }];
  return { name: `coverage, ${what}`, market, forms };
}

function stepOfExport(what: string, market: AskedMarket): Question {
  const forms = STREAMED_FORMATS.flatMap((format) =>
    (['identity', 'zstd'] as const).map((encoding) => ({
      name: `${format} ${encoding}`,
      path: `${pathOf(market)}/export?format=${format}`,
      headers: { 'accept-encoding': encoding },
    })),
  );
  return { name: `step of an export, ${what}`, market, forms };
}

function pathOf({ coin, name }: AskedMarket): string {
  return `/v1/${coin}/markets/${name}`;
}

function pageForms(path: string): Form[] {
  return ['asc', 'desc'].flatMap((order) =>
    answerForms(`${path}&order=${order}`).map((form) => ({ ...form, name: `${order} ${form.name}` })),
  );
}

function answerForms(path: string): Form[] {
  return Object.entries(TYPES).flatMap(([type, accept]) =>
    ENCODINGS.map((encoding) => ({
      name: `${type} ${encoding}`,
      path,
      headers: { accept, 'accept-encoding': encoding },
    })),
  );
}

/** Every question in every form, in this process and against the executable, which serve the same data directory. */
export async function measureBlocking(
  data: string,
  questions: readonly Question[],
  { origin, key, probe }: Probed,
  say: (line: string) => void,
): Promise<Blocking[]> {
  const archive = openArchive(data, NOW_MS, { create: false });
  // What this one changes, the others have to look for again.
  const other = openArchive(data, NOW_MS, { create: false });
  try {
    const service = serviceOf(archive);
    const inProcess = async ({ path, headers }: Form) =>
      await service.app.handle(
        new Request(`http://localhost${path}`, { headers: { ...headers, authorization: `Bearer ${service.key}` } }),
      );
    const overHttp = async ({ path, headers }: Form) =>
      await fetch(`${origin}${path}`, { headers: { ...headers, authorization: `Bearer ${key}` }, decompress: false });
    const idle = await idleWait(probe);
    const measured: Blocking[] = [];
    for (const { name, market, forms } of questions) {
      const stretchOf = async (form: Form) => {
        change(other, market);
        let bytes = 0;
        const stretch = await longestStretch(async () => {
          bytes = await readSome(await inProcess(form), form);
        });
        return { stretch, bytes };
      };
      // All of them once to warm up and once to find the worst one, which then is measured.
      let worst = { form: forms[0]!, stretch: -1, bytes: 0 };
      for (const form of forms) {
        await stretchOf(form);
        const found = await stretchOf(form);
        if (found.stretch > worst.stretch) worst = { form, ...found };
      }
      const { form, bytes } = worst;
      const inProcessMs = await rounds(async () => (await stretchOf(form)).stretch);
      const waits = await rounds(async () => {
        change(other, market);
        return await probe.longestWait(async () => void (await readSome(await overHttp(form), form)));
      });
      const overHttpMs = Math.max(0, waits.median - idle);
      measured.push({ name, form: form.name, bytes, inProcess: inProcessMs, overHttp: overHttpMs });
      say(`  ${name}: ${figure(inProcessMs.median)} ms, ${figure(overHttpMs)} over HTTP (${form.name})`);
    }
    return measured;
  } finally {
    archive.database.close();
    other.database.close();
  }
}

function change({ database, markets }: Archive, { coin, name }: AskedMarket): void {
  const market = markets.find(coin, name);
  if (market === undefined) throw new Error(`there is no market ${name}`);
  database.write(() => markets.touch(market.key));
}

async function idleWait(probe: Probe): Promise<number> {
  return (await rounds(() => probe.longestWait(() => Bun.sleep(IDLE_MS)))).median;
}

/** What `measured` says, once to warm up and then so often that it counts. */
async function rounds(measured: () => Promise<number>): Promise<Spread> {
  await measured();
  const values: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) values.push(await measured());
  return spreadOf(values);
}

/** Milliseconds of the longest stretch of `work` in which nothing else got a turn. */
async function longestStretch(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let under = true;
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (under) setImmediate(turn);
  };
  // What the one before left behind is not this one's to clear away.
  Bun.gc(true);
  await new Promise<void>((resolve) => setImmediate(resolve));
  last = performance.now();
  setImmediate(turn);
  await work();
  await new Promise<void>((resolve) => setImmediate(resolve));
  turn();
  under = false;
  return longest;
}

/** Reads an answer to its end, or as much of it as is wanted; returns how much that was. */
async function readSome(answer: Response, { path }: Form): Promise<number> {
  if (answer.status !== 200) throw new Error(`${answer.status} for ${path}: ${await answer.text()}`);
  const startedMs = performance.now();
  let bytes = 0;
  for await (const chunk of answer.body!) {
    bytes += chunk.length;
    // Leaving the loop cancels the stream.
    if (bytes >= READ_BYTES_MAX || performance.now() - startedMs >= READ_MS_MAX) break;
  }
  return bytes;
}
