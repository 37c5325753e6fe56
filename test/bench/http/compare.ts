import { temporaryDirectory } from '../../support/archive.ts';
import { LeftOut, requiredProgram, versionOf } from '../program.ts';
import { requireAgreement } from './agreement.ts';
import { startBookreel } from './bookreel.ts';
import type { Contender } from './contender.ts';
import type { HttpCorpus } from './corpus.ts';
import { startNginx } from './nginx.ts';
import { installContenders, packageVersion, startNodeServer } from './node-servers.ts';
import { measureRates, type Rate } from './trial.ts';

const ROUNDS = 5;
const SECONDS = 2;

export type ContenderId = 'bookreel' | 'nginx' | 'rows';

export interface Comparison {
  /** By contender, in the order of the table; bookreel first. */
  readonly names: ReadonlyMap<ContenderId, string>;
  readonly leftOut: readonly string[];
  /** Versions of the tools. */
  readonly tools: string;
  /** By kind of request, then by contender. */
  readonly rates: ReadonlyMap<string, ReadonlyMap<ContenderId, Rate>>;
}

/**
 * Measures contenders over HTTP with the same records, after a check that all give the same answers: every contender, or bookreel
 * and the `selected` ones.
 */
export async function compareOverHttp(
  corpus: HttpCorpus,
  selected: readonly string[] | undefined,
  say: (line: string) => void,
): Promise<Comparison> {
  requiredProgram('wrk', 'wrk');
  using directory = temporaryDirectory();
  await using running = new AsyncDisposableStack();
  const leftOut: string[] = [];
  const contenders = new Map<ContenderId, Contender>();
  const bookreel = running.use(await startBookreel(corpus));
  contenders.set('bookreel', bookreel);
  const starts: [ContenderId, string, () => Promise<Contender>][] = [
    ['nginx', 'nginx', () => startNginx(corpus.kinds, (path) => bodyOf(bookreel, corpus, path))],
    ['rows', 'Fastify + better-sqlite3', () => startFastify(corpus, say)],
  ];
  for (const [id, name, start] of starts) {
    if (selected !== undefined && !selected.includes(id)) {
      leftOut.push(`${name}: not selected`);
      continue;
    }
    try {
      contenders.set(id, running.use(await start()));
      say(`  ${contenders.get(id)!.name}`);
    } catch (error) {
      if (!(error instanceof LeftOut)) throw error;
      leftOut.push(`${name}: ${error.message}`);
    }
  }
  await requireAgreement([...contenders.values()], corpus.kinds);
  say('  all give the same answers');
  const rates = new Map<string, Map<ContenderId, Rate>>();
  for (const kind of corpus.kinds) {
    const trials = [...contenders].map(([id, { origin, ask }]) => ({
      name: id,
      origin,
      asks: kind.paths.map((_, index) => ask(kind, index)),
    }));
    const measured = await measureRates(trials, { rounds: ROUNDS, seconds: SECONDS, directory: directory.path });
    rates.set(kind.name, new Map([...measured].map(([id, rate]) => [id as ContenderId, rate])));
    say(
      `  ${kind.name}: ${[...measured].map(([id, { requestsPerSecond }]) => `${id} ${requestsPerSecond.median.toFixed(0)}`).join(', ')}`,
    );
  }
  const tools = `wrk ${versionOf('wrk', '-v')}, Node ${versionOf('node', '--version')}`;
  return { tools, names: new Map([...contenders].map(([id, { name }]) => [id, name])), leftOut, rates };
}

/** bookreel's answer to a path, for nginx's files. */
async function bodyOf({ origin }: Contender, { keys }: HttpCorpus, path: string): Promise<Uint8Array> {
  const answer = await fetch(`${origin}${path}`, {
    headers: { authorization: `Bearer ${keys[0]}`, 'accept-encoding': 'identity' },
  });
  return new Uint8Array(await answer.arrayBuffer());
}

async function startFastify({ records }: HttpCorpus, say: (line: string) => void): Promise<Contender> {
  await installContenders(say);
  return await startNodeServer({
    name: `Fastify ${packageVersion('fastify')} + better-sqlite3 ${packageVersion('better-sqlite3')}, rows and JSON.stringify`,
    script: 'fastify-rows.mjs',
    args: [records],
    agreement: 'values',
  });
}
