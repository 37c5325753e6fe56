import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Archive, openArchive } from '../../src/store/archive.ts';
import { NOW_MS } from '../support/archive.ts';
import { type Service, serviceOf } from '../support/service.ts';
import type { HttpCorpus } from './http/corpus.ts';
import { figure, type Goal, type Section, shown, table } from './report.ts';
import { type Spread, spreadOf } from './rounds.ts';

const ROUNDS = 7;
/** 100 Mbit/s. */
const BYTES_A_MICROSECOND = 12.5;
/** Different answers of one kind in one round. */
const ANSWERS = 16;
/** A difference that no client sees: near the crossing either is right. */
const EQUAL_MICROS = 20;
const LIST = 'market list of 1000';
const PAGE_OF_1000 = 'page of 1000';
/** Small lists and pages, to see from which size on it pays. */
const SMALL_LIMITS = [1, 2, 3, 10];

const TYPES = { JSON: 'application/json', msgpack: 'application/msgpack' } as const;

/** Ways to compress that could be chosen from. */
const CANDIDATES = {
  'gzip 1': (body: Uint8Array<ArrayBuffer>) => Bun.gzipSync(body, { level: 1 }),
  'zstd 1': (body: Uint8Array<ArrayBuffer>) => Bun.zstdCompressSync(body, { level: 1 }),
  'zstd 3': (body: Uint8Array<ArrayBuffer>) => Bun.zstdCompressSync(body, { level: 3 }),
} as const;
type Candidate = keyof typeof CANDIDATES;

const SENT = ['identity', 'gzip', 'zstd'] as const;
type Sent = (typeof SENT)[number];

/** Bytes of a body, in the mean, and microseconds of making or compressing it. */
interface Cost {
  readonly bytes: number;
  readonly micros: Spread;
}

/** One kind of answer in one format. */
export interface Transfer {
  readonly name: string;
  /** As the service sends it to who accepts one encoding; whether it was used. */
  readonly sent: Readonly<Record<Sent, Cost & { readonly encoded: boolean }>>;
  /** Of compressing the identity body alone. */
  readonly candidates: Readonly<Record<Candidate, Cost>>;
}

/** What each kind of answer costs to make, to compress and to send. In process. */
export async function measureTransfer(corpus: HttpCorpus, say: (line: string) => void): Promise<Transfer[]> {
  const archive = openArchive(corpus.data, NOW_MS, { create: false });
  // What this one changes, the service has to look for again: no answer comes from memory.
  const other = openArchive(corpus.data, NOW_MS, { create: false });
  try {
    const service = serviceOf(archive);
    const measured: Transfer[] = [];
    for (const [name, paths] of kindsOf(corpus)) {
      for (const [type, accept] of Object.entries(TYPES)) {
        measured.push(await transferOf(`${name}, ${type}`, service, other, paths, accept));
      }
      say(`  ${name}`);
    }
    return measured;
  } finally {
    archive.database.close();
    other.database.close();
  }
}

function kindsOf({ kinds }: HttpCorpus): Map<string, readonly string[]> {
  const pathsOf = (name: string) => kinds.find((kind) => kind.name === name)!.paths.slice(0, ANSWERS);
  const pages = pathsOf(PAGE_OF_1000);
  const lists = pathsOf(LIST);
  const quotes = pages.map((path) => path.replace('/snapshots?', '/quotes?'));
  const limited = (paths: readonly string[], limit: number) =>
    paths.map((path) => path.replace('limit=1000', `limit=${limit}`));
  return new Map([
    ...SMALL_LIMITS.map((limit): [string, string[]] => [`market list of ${limit}`, limited(lists, limit)]),
    ...SMALL_LIMITS.map((limit): [string, string[]] => [`quotes, page of ${limit}`, limited(quotes, limit)]),
    ['nearest of each outcome', pathsOf('nearest of each outcome')],
    ['page of 100', pathsOf('page of 100')],
    [PAGE_OF_1000, pages],
    [LIST, lists],
    ['quotes, page of 1000', quotes],
  ]);
}

async function transferOf(
  name: string,
  service: Service,
  other: Archive,
  paths: readonly string[],
  accept: string,
): Promise<Transfer> {
  const ask = async (path: string, encoding: Sent) =>
    await service.app.handle(
      new Request(`http://localhost${path}`, {
        headers: { authorization: `Bearer ${service.key}`, accept, 'accept-encoding': encoding },
      }),
    );
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  for (const path of paths) {
    const answer = await ask(path, 'identity');
    if (answer.status !== 200) throw new Error(`${answer.status} for ${path}`);
    bodies.push(new Uint8Array(await answer.arrayBuffer()));
  }
  const sentOf = async (encoding: Sent) => {
    let bytes = 0;
    let encoded = 0;
    const micros = await rounds(async () => {
      changeArchive(other);
      bytes = 0;
      encoded = 0;
      let nanos = 0;
      for (const path of paths) {
        // Every request comes in a turn of its own.
        await nextTurn();
        const started = Bun.nanoseconds();
        const answer = await ask(path, encoding);
        bytes += (await answer.arrayBuffer()).byteLength;
        nanos += Bun.nanoseconds() - started;
        if (answer.headers.has('content-encoding')) encoded += 1;
      }
      return nanos / 1000 / paths.length;
    });
    return { bytes: bytes / paths.length, micros, encoded: encoded === paths.length };
  };
  const candidateOf = async (compress: (body: Uint8Array<ArrayBuffer>) => Uint8Array): Promise<Cost> => {
    const bytes = bodies.reduce((sum, body) => sum + compress(body).length, 0) / bodies.length;
    const micros = await rounds(async () => {
      const started = Bun.nanoseconds();
      for (const body of bodies) compress(body);
      return (Bun.nanoseconds() - started) / 1000 / bodies.length;
    });
    return { bytes, micros };
  };
  return {
    name,
    sent: { identity: await sentOf('identity'), gzip: await sentOf('gzip'), zstd: await sentOf('zstd') },
    candidates: {
      'gzip 1': await candidateOf(CANDIDATES['gzip 1']),
      'zstd 1': await candidateOf(CANDIDATES['zstd 1']),
      'zstd 3': await candidateOf(CANDIDATES['zstd 3']),
    },
  };
}

function changeArchive({ database, markets }: Archive): void {
  const market = markets.afterKey(0)!;
  database.write(() => markets.touch(market.key));
}

/** What `measured` says, once to warm up and then so often that it counts. */
async function rounds(measured: () => Promise<number>): Promise<Spread> {
  const values: number[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    Bun.gc(true);
    const value = await measured();
    if (round >= 0) values.push(value);
  }
  return spreadOf(values);
}

/** Microseconds until the last byte has arrived. */
function totalOf({ bytes, micros }: Cost): number {
  return micros.median + bytes / BYTES_A_MICROSECOND;
}

export function transferSection(transfers: readonly Transfer[]): Section {
  const asSent = transfers.map(({ name, sent: { identity, gzip, zstd } }) => [
    name,
    Math.round(identity.bytes).toString(),
    shown(identity.micros),
    figure(totalOf(identity)),
    ...[gzip, zstd].flatMap((cost) =>
      cost.encoded ? [Math.round(cost.bytes).toString(), figure(totalOf(cost))] : ['as it is', ''],
    ),
  ]);
  const chosen = transfers.map(({ name, sent, candidates }) => [
    name,
    figure(sent.identity.bytes / BYTES_A_MICROSECOND),
    ...Object.values(candidates).map(
      (cost) => `${figure(cost.micros.median)} + ${figure(cost.bytes / BYTES_A_MICROSECOND)}`,
    ),
  ]);
  const crossings = Object.keys(CANDIDATES).map((name) => `${name} from ${crossingOf(transfers, name as Candidate)}`);
  const text = `## Bytes and time at 100 Mbit/s

What each kind of answer takes until its last byte has arrived: the time of the service, in process, and ${BYTES_A_MICROSECOND} bytes a µs.
${ANSWERS} answers of each kind, ${ROUNDS} rounds; nothing comes from memory.

${table(['answer', 'bytes', 'µs of the service', 'µs in all', 'gzip, bytes', 'µs in all', 'zstd, bytes', 'µs in all'], asSent)}

The ways to compress beside each other, the microseconds of compressing and those of sending; beside that, every answer takes the
same time. Compressing pays in the smallest answers measured: ${crossings.join(', ')}.

${table(['answer', 'sent as it is', ...Object.keys(CANDIDATES)], chosen)}`;
  return { text, goals: [goalOf(transfers)] };
}

/** The smallest answer from which on compressing that way pays in every one. */
function crossingOf(transfers: readonly Transfer[], candidate: Candidate): string {
  const sorted = transfers.toSorted((a, b) => b.sent.identity.bytes - a.sent.identity.bytes);
  const firstThatDoesNot = sorted.findIndex((transfer) => !pays(transfer, candidate));
  const paying = firstThatDoesNot < 0 ? sorted : sorted.slice(0, firstThatDoesNot);
  const smallest = paying.at(-1);
  return smallest === undefined ? 'none' : `${Math.round(smallest.sent.identity.bytes)} bytes`;
}

function pays(transfer: Transfer, candidate: Candidate): boolean {
  return gainOf(transfer, candidate) > 0;
}

/** By how many microseconds an answer arrives earlier when it is compressed; making it takes as long either way. */
function gainOf({ sent, candidates }: Transfer, candidate: Candidate): number {
  return sent.identity.bytes / BYTES_A_MICROSECOND - totalOf(candidates[candidate]);
}

/** Whether what is sent is compressed wherever it arrives earlier so, and nowhere else. */
function goalOf(transfers: readonly Transfer[]): Goal {
  const wrong = transfers.flatMap((transfer) =>
    (['gzip', 'zstd'] as const)
      .filter((encoding) => !isRight(transfer, encoding))
      .map((encoding) => `${transfer.name}, ${encoding}`),
  );
  return {
    figure: 'answers are compressed where they arrive earlier so at 100 Mbit/s',
    asked: 'all',
    measured: wrong.length === 0 ? `all of ${2 * transfers.length}` : `not: ${wrong.join('; ')}`,
    met: wrong.length === 0,
  };
}

function isRight(transfer: Transfer, encoding: 'gzip' | 'zstd'): boolean {
  const { encoded, bytes } = transfer.sent[encoding];
  const ways = Object.keys(CANDIDATES).filter((name) => name.startsWith(encoding)) as Candidate[];
  // Its bytes tell at which level it was compressed.
  const away = (way: Candidate) => Math.abs(transfer.candidates[way].bytes - bytes);
  const way = encoded ? ways.reduce((a, b) => (away(a) <= away(b) ? a : b)) : ways[0]!;
  return encoded === pays(transfer, way) || Math.abs(gainOf(transfer, way)) < EQUAL_MICROS;
}
