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
/** Number of different answers of one kind in one round. */
const ANSWERS = 16;
/** A difference that does not matter to clients: near the break-even size both choices are right. */
const EQUAL_MICROS = 20;
const LIST = 'market list of 1000';
const PAGE_OF_1000 = 'page of 1000';
/** Limits of small lists and pages, to find the size from which compression pays. */
const SMALL_LIMITS = [1, 2, 3, 10];

const TYPES = { JSON: 'application/json', msgpack: 'application/msgpack' } as const;

/** The compression methods to compare. */
const CANDIDATES = {
  'gzip 1': (body: Uint8Array<ArrayBuffer>) => Bun.gzipSync(body, { level: 1 }),
  'zstd 1': (body: Uint8Array<ArrayBuffer>) => Bun.zstdCompressSync(body, { level: 1 }),
  'zstd 3': (body: Uint8Array<ArrayBuffer>) => Bun.zstdCompressSync(body, { level: 3 }),
} as const;
type Candidate = keyof typeof CANDIDATES;

const SENT = ['identity', 'gzip', 'zstd'] as const;
type Sent = (typeof SENT)[number];

/** Mean bytes of a body, and microseconds to make or compress it. */
interface Cost {
  readonly bytes: number;
  readonly micros: Spread;
}

/** One kind of answer in one format. */
export interface Transfer {
  readonly name: string;
  /** The service's answers to clients that accept one encoding, and whether it used the encoding. */
  readonly sent: Readonly<Record<Sent, Cost & { readonly encoded: boolean }>>;
  /** Cost of compressing the identity body alone. */
  readonly candidates: Readonly<Record<Candidate, Cost>>;
}

/** Measures the cost to make, to compress and to send each kind of answer, in process. */
export async function measureTransfer(corpus: HttpCorpus, say: (line: string) => void): Promise<Transfer[]> {
  const archive = openArchive(corpus.data, NOW_MS, { create: false });
  // Writes to the archive with this connection empty the service's cache, so that no answer is cached.
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
        // Every request comes in another turn of the event loop.
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

/** Calls `measured` once as a warm-up, then for every round. */
async function rounds(measured: () => Promise<number>): Promise<Spread> {
  const values: number[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    Bun.gc(true);
    const value = await measured();
    if (round >= 0) values.push(value);
  }
  return spreadOf(values);
}

/** Microseconds until the last byte arrives. */
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
      cost.encoded ? [Math.round(cost.bytes).toString(), figure(totalOf(cost))] : ['not compressed', ''],
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

The time until the last byte of an answer arrives: the service's time, in process, plus the time to send ${BYTES_A_MICROSECOND} bytes per µs.
${ANSWERS} answers of each kind, ${ROUNDS} rounds; no answer is cached.

${table(['answer', 'bytes', 'µs of the service', 'µs in all', 'gzip, bytes', 'µs in all', 'zstd, bytes', 'µs in all'], asSent)}

The compression methods, with the microseconds of compressing plus those of sending; the rest of the time is the same for all.
Smallest measured answers for which compression pays: ${crossings.join(', ')}.

${table(['answer', 'uncompressed', ...Object.keys(CANDIDATES)], chosen)}`;
  return { text, goals: [goalOf(transfers)] };
}

/** The smallest answer from which this method pays in every larger one. */
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

/** The microseconds by which an answer arrives earlier if it is compressed; making it takes the same time. */
function gainOf({ sent, candidates }: Transfer, candidate: Candidate): number {
  return sent.identity.bytes / BYTES_A_MICROSECOND - totalOf(candidates[candidate]);
}

/** Whether the service compresses exactly the answers that arrive earlier compressed. */
function goalOf(transfers: readonly Transfer[]): Goal {
  const wrong = transfers.flatMap((transfer) =>
    (['gzip', 'zstd'] as const)
      .filter((encoding) => !isRight(transfer, encoding))
      .map((encoding) => `${transfer.name}, ${encoding}`),
  );
  return {
    figure: 'exactly the answers that arrive earlier compressed at 100 Mbit/s are compressed',
    required: 'all',
    measured: wrong.length === 0 ? `all of ${2 * transfers.length}` : `not: ${wrong.join('; ')}`,
    met: wrong.length === 0,
  };
}

function isRight(transfer: Transfer, encoding: 'gzip' | 'zstd'): boolean {
  const { encoded, bytes } = transfer.sent[encoding];
  const ways = Object.keys(CANDIDATES).filter((name) => name.startsWith(encoding)) as Candidate[];
  // The bytes show the level of compression.
  const away = (way: Candidate) => Math.abs(transfer.candidates[way].bytes - bytes);
  const way = encoded ? ways.reduce((a, b) => (away(a) <= away(b) ? a : b)) : ways[0]!;
  return encoded === pays(transfer, way) || Math.abs(gainOf(transfer, way)) < EQUAL_MICROS;
}
