import { unpack } from 'msgpackr';
import { temporaryDirectory } from '../../support/archive.ts';
import { startBookreel } from './bookreel.ts';
import { withCurrentCopies } from './constant.ts';
import type { Contender } from './contender.ts';
import type { HttpCorpus, Kind } from './corpus.ts';
import { measureRates, type Rate, type Trial } from './trial.ts';

const ROUNDS = 3;
const SECONDS = 1;
/** Maximum size of an answer that consists of headers alone. */
const HEADER_BYTES_MAX = 1000;
const CHECKED = 4;
const FEW = Array.from({ length: 64 }, (_, index) => index);

/** One way to request the same records. */
interface Format {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body's value as JSON text. */
  readonly json: (body: Uint8Array<ArrayBuffer>) => string;
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();

const FORMATS: readonly Format[] = [
  { name: 'JSON', headers: {}, json: textOf },
  {
    name: 'msgpack',
    headers: { accept: 'application/msgpack' },
    json: (body) => JSON.stringify(unpack(body)),
  },
  { name: 'JSON, zstd', headers: { 'accept-encoding': 'zstd' }, json: (body) => textOf(Bun.zstdDecompressSync(body)) },
  { name: 'JSON, gzip', headers: { 'accept-encoding': 'gzip' }, json: (body) => textOf(Bun.gunzipSync(body)) },
];
const HOT = 'JSON, the same URL repeatedly';
const UNCHANGED = 'the client’s copy is current: 304';

/** The rate by kind of request and format; the formats in a fixed order. */
export type FormatRates = ReadonlyMap<string, ReadonlyMap<string, Rate>>;

/** Measures the formats of bookreel's answers after a check of each; for the nearest snapshot only one outcome. */
export async function measureFormats(corpus: HttpCorpus, say: (line: string) => void): Promise<FormatRates> {
  using directory = temporaryDirectory();
  await using bookreel = await startBookreel(corpus);
  const rates = new Map<string, Map<string, Rate>>();
  for (const kind of corpus.kinds.filter(({ name }) => name !== 'nearest of each outcome')) {
    await requireSameValues(bookreel, kind);
    const trials = [...FORMATS.map((format) => trialOf(bookreel, kind, format)), hotTrial(bookreel, kind)];
    const unchanged = await unchangedTrial(bookreel, kind);
    if (unchanged !== undefined) trials.push(unchanged);
    const measured = await measureRates(trials, { rounds: ROUNDS, seconds: SECONDS, directory: directory.path });
    const bodiless = measured.get(UNCHANGED);
    if (bodiless !== undefined && bodiless.bytes > HEADER_BYTES_MAX) throw new Error('a current copy was sent again');
    rates.set(kind.name, measured);
    say(`  ${kind.name}`);
  }
  return rates;
}

function trialOf({ origin, ask }: Contender, kind: Kind, { name, headers }: Format): Trial {
  const asks = kind.paths.map((_, index) => {
    const { path, headers: own } = ask(kind, index);
    return { path, headers: { ...own, ...headers } };
  });
  return { name, origin, asks };
}

/** A single path, with all keys. */
function hotTrial({ origin, ask }: Contender, kind: Kind): Trial {
  const { path } = ask(kind, 0);
  return { name: HOT, origin, asks: FEW.map((index) => ({ path, headers: ask(kind, index).headers })) };
}

/** Undefined if the answers have no entity tag. */
async function unchangedTrial({ origin, ask }: Contender, kind: Kind): Promise<Trial | undefined> {
  const asks = await withCurrentCopies(
    origin,
    kind.paths.map((_, index) => ask(kind, index)),
  );
  return asks && { name: UNCHANGED, origin, asks };
}

async function requireSameValues({ origin, ask }: Contender, kind: Kind): Promise<void> {
  for (let index = 0; index < CHECKED; index += 1) {
    const { path, headers } = ask(kind, index);
    const texts = [];
    for (const { headers: variant, json } of FORMATS) {
      const answer = await fetch(origin + path, {
        headers: { 'accept-encoding': 'identity', ...headers, ...variant },
        decompress: false,
      });
      const body = new Uint8Array(await answer.arrayBuffer());
      // Small answers are not compressed.
      const plain = variant['accept-encoding'] !== undefined && !answer.headers.has('content-encoding');
      texts.push(plain ? textOf(body) : json(body));
    }
    const values = texts.map((text) => JSON.parse(text) as unknown);
    if (values.some((value) => !Bun.deepEquals(value, values[0], true))) throw new Error(`formats of ${path} differ`);
  }
}
