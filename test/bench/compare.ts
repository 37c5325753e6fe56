import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { cpuSeconds, ownBytes } from '../fault/machine.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { circumstances } from '../support/circumstances.ts';
import { EXECUTABLE, finished, type RunningServer, startServer } from '../support/executable.ts';
import { asksOf, type ConstantKind, constantKinds } from './http/constant.ts';
import { type HttpCorpus, openHttpCorpus } from './http/corpus.ts';
import { measureRates } from './http/trial.ts';
import { fullSpeed } from './replay/full-speed.ts';
import { shown, table } from './report.ts';
import { spreadOf } from './rounds.ts';

const ROUNDS = 5;
const SECONDS = 2;
/** Times of single starts differ by a fifth, so there are more of them. */
const STARTS = 21;
const MEBIBYTE = 2 ** 20;

/** Requests that are also measured on a recording with arrivals. Others read no records. */
const KINDS_WITH_ARRIVALS: ReadonlySet<string> = new Set(['nearest', 'nearest of each outcome', 'page of 100']);

/** One of the two builds, and an archive that it created from the same recording. */
interface Build {
  readonly name: 'before' | 'after';
  readonly executable: string;
  readonly data: string;
}

/** One figure of both builds, with a value per round. */
interface Figure {
  readonly name: string;
  readonly isBetterWhen: 'more' | 'less';
  readonly values: Readonly<Record<Build['name'], number[]>>;
}

const USAGE = 'usage: bun test/bench/compare.ts EXECUTABLE — the build before; the one after is dist/bookreel';

/** Measures two builds alternately in one run: `make compare BEFORE=…`. Prints the medians and the differences. */
async function main([given]: readonly string[]): Promise<number> {
  if (given === undefined || !existsSync(given)) {
    console.error(USAGE);
    return 2;
  }
  using directory = temporaryDirectory();
  using corpus = await openHttpCorpus();
  const recording = join(directory.path, 'recording.ndjson');
  await command(EXECUTABLE, ['export', '--data', corpus.data, '-o', recording]);
  const withoutArrivals = join(directory.path, 'without-arrivals.ndjson');
  await Bun.write(withoutArrivals, (await Bun.file(recording).text()).replaceAll(/"receivedAt":"[^"]*",/g, ''));
  const figures: Figure[] = [];
  for (const [path, suffix] of [
    [withoutArrivals, ''],
    [recording, ', with arrivals'],
  ] as const) {
    const builds: Build[] = [
      { name: 'before', executable: resolve(given), data: join(directory.path, `before${suffix}`) },
      { name: 'after', executable: EXECUTABLE, data: join(directory.path, `after${suffix}`) },
    ];
    const importing = await commands(`import${suffix}`, builds, ({ data }) => {
      rmSync(data, { recursive: true, force: true });
      return ['import', path, '--data', data];
    });
    const exporting = await commands(`export${suffix}`, builds, ({ data }) => [
      ...['export', '--format', 'ndjson', '--force'],
      ...['--data', data, '-o', join(directory.path, 'exported')],
    ]);
    figures.push(...importing, ...exporting);
    if (suffix === '') figures.push(...(await starts(builds)));
    figures.push(...(await http(builds, corpus, directory.path, suffix)), await replays(builds, suffix));
  }
  console.log(`${await circumstances(`\`make compare BEFORE=${given}\` (\`bun test/bench/compare.ts\`)`)}
- corpus: ${corpus.description}; the builds alternate, ${ROUNDS} rounds (starts: ${STARTS})
- the recording states no arrivals, unless a figure says "with arrivals"; a build that does not store arrivals ignores them

${table(
  ['figure', 'before', 'after', 'better by'],
  figures.map((figure) => [
    figure.name,
    ...(['before', 'after'] as const).map((name) => spread(figure, name)),
    gain(figure),
  ]),
)}`);
  return 0;
}

function spread({ values }: Figure, name: Build['name']): string {
  return shown(spreadOf(values[name]));
}

/** The improvement as a share of the figure before; negative if it is worse. */
function gain({ values, isBetterWhen }: Figure): string {
  const [before, after] = [spreadOf(values.before).median, spreadOf(values.after).median];
  const share = isBetterWhen === 'more' ? after / before - 1 : before / after - 1;
  return `${(share * 100).toFixed(1)} %`;
}

function figureOf(name: string, isBetterWhen: Figure['isBetterWhen']): Figure {
  return { name, isBetterWhen, values: { before: [], after: [] } };
}

/** Runs each build once per round, in changing order. */
async function inTurns(
  builds: readonly Build[],
  measure: (build: Build) => Promise<void>,
  rounds = ROUNDS,
): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    for (const build of round % 2 === 0 ? builds : builds.toReversed()) await measure(build);
  }
}

async function command(executable: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await finished([executable, ...args], {});
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

/** A command's elapsed time and processor time. */
async function commands(
  name: string,
  builds: readonly Build[],
  argsOf: (build: Build) => readonly string[],
): Promise<Figure[]> {
  const wall = figureOf(`${name}, s`, 'less');
  const cpu = figureOf(`${name}, s of processor`, 'less');
  await inTurns(builds, async (build) => {
    const args = argsOf(build);
    const startedMs = performance.now();
    const child = Bun.spawn([build.executable, ...args], { stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' });
    if ((await child.exited) !== 0) throw new Error(`${name}: ${await new Response(child.stderr).text()}`);
    wall.values[build.name].push((performance.now() - startedMs) / 1000);
    cpu.values[build.name].push(Number(child.resourceUsage()!.cpuTime.total) / 1e6);
  });
  return [wall, cpu];
}

/** Time until a server prints its address, and its memory then. */
async function starts(builds: readonly Build[]): Promise<Figure[]> {
  const ready = figureOf('start, ms', 'less');
  const memory = figureOf('memory at rest without the executable, MiB', 'less');
  await inTurns(
    builds,
    async ({ name, data, executable }) => {
      const startedMs = performance.now();
      await using server = await startServer(data, [], executable);
      ready.values[name].push(performance.now() - startedMs);
      await Bun.sleep(500);
      memory.values[name].push(ownBytes(server.pid) / MEBIBYTE);
    },
    STARTS,
  );
  return [ready, memory];
}

async function http(
  builds: readonly Build[],
  corpus: HttpCorpus,
  directory: string,
  suffix: string,
): Promise<Figure[]> {
  await using running = new AsyncDisposableStack();
  const servers = new Map<Build['name'], RunningServer & { readonly keys: readonly string[] }>();
  for (const { name, data, executable } of builds) {
    const create = ['key', 'create', '--tier', 'enterprise', '--rpm', '1000000', '--json', '--data', data];
    const keys: string[] = [];
    for (const _ of corpus.keys) keys.push((JSON.parse(await command(executable, create)) as { key: string }).key);
    servers.set(name, { ...running.use(await startServer(data, [], executable)), keys });
  }
  const figures: Figure[] = [];
  const kinds: ConstantKind[] = corpus.kinds.map(({ name, paths }) => ({
    name,
    asksOf: async (_, keys) => asksOf(paths, keys),
  }));
  for (const kind of [...kinds, ...constantKinds(corpus)]) {
    if (suffix !== '' && !KINDS_WITH_ARRIVALS.has(kind.name)) continue;
    const trials = [];
    for (const [name, { origin, keys }] of servers) {
      trials.push({ name, origin, asks: await kind.asksOf(origin, keys) });
    }
    const rate = figureOf(`${kind.name}${suffix}, requests/s`, 'more');
    const cpu = figureOf(`${kind.name}${suffix}, µs of processor`, 'less');
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const trial of round % 2 === 0 ? trials : trials.toReversed()) {
        const { pid } = servers.get(trial.name)!;
        const [cpuBefore, startedMs] = [cpuSeconds(pid), performance.now()];
        const measured = await measureRates([trial], { rounds: 1, seconds: SECONDS, directory });
        const perSecond = measured.get(trial.name)!.requestsPerSecond.median;
        const seconds = (performance.now() - startedMs) / 1000;
        rate.values[trial.name].push(perSecond);
        // Includes the warm-up, for both builds alike.
        cpu.values[trial.name].push(((cpuSeconds(pid) - cpuBefore) / (perSecond * seconds)) * 1e6);
      }
    }
    figures.push(rate, cpu);
  }
  return figures;
}

/** The whole recording, replayed to one client over a socket as fast as it reads. */
async function replays(builds: readonly Build[], suffix: string): Promise<Figure> {
  const deltas = figureOf(`replay${suffix}, delta frames/s`, 'more');
  await inTurns(builds, async ({ name, data, executable }) => {
    const round = await fullSpeed(data, { executable });
    deltas.values[name].push(round.deltas / round.seconds);
  });
  return deltas;
}

process.exitCode = await main(process.argv.slice(2));
