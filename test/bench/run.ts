import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../support/archive.ts';
import { circumstances } from '../support/circumstances.ts';
import { accountsSection, measureAccounts } from './accounts.ts';
import { createBaselines } from './baselines.ts';
import { type Corpus, openCorpus } from './corpus.ts';
import { framesSection, measureFrames } from './frames.ts';
import { growthSection, measureGrowth } from './growth.ts';
import { heatMapSection, measureHeatMaps } from './heat-map.ts';
import { compareOverHttp } from './http/compare.ts';
import { constantSection, measureConstant } from './http/constant.ts';
import { type HttpCorpus, openHttpCorpus } from './http/corpus.ts';
import { measureFormats } from './http/formats.ts';
import { comparisonSection, formatsSection } from './http/sections.ts';
import { importsSection, measureImports } from './imports.ts';
import { largeSection, measureLarge } from './large.ts';
import { measureNearest, nearestSection } from './nearest.ts';
import { measureObservation, observationSection } from './observation.ts';
import { measurePages, pagesSection } from './pages.ts';
import { measureProcesses, processesSection } from './processes.ts';
import { LeftOut } from './program.ts';
import { type Goal, goalsSection, type Section, verdict } from './report.ts';
import { ROUNDS } from './rounds.ts';
import { measureSealed, sealedSection } from './sealed.ts';
import { measureSegmentsFormat, segmentsFormatSection } from './segments-format.ts';
import { measureStorage, storageSection } from './storage.ts';
import { measureTransfer, transferSection } from './transfer.ts';
import { measureWindows, windowsSection } from './windows.ts';

const RESULTS = join(import.meta.dir, 'RESULTS.md');

/** Shared by sections; each corpus is created at its first use. */
interface Bench {
  /** Names of the contenders over HTTP; undefined for all. */
  readonly contenders: readonly string[] | undefined;
  /** An earlier executable to compare with. */
  readonly before: string | undefined;
  readonly corpus: () => Promise<Corpus>;
  readonly httpCorpus: () => Promise<HttpCorpus>;
}

const SECTIONS: Readonly<Record<string, (bench: Bench) => Promise<Section>>> = {
  http: async ({ httpCorpus, contenders }) => {
    const corpus = await httpCorpus();
    return comparisonSection(corpus.description, await compareOverHttp(corpus, contenders, say));
  },
  constant: async ({ httpCorpus, before }) => constantSection(await measureConstant(await httpCorpus(), before)),
  processes: async ({ httpCorpus }) => processesSection(await measureProcesses(await httpCorpus())),
  windows: async ({ httpCorpus, before }) => windowsSection(await measureWindows(await httpCorpus(), before)),
  formats: async ({ httpCorpus }) => formatsSection(await measureFormats(await httpCorpus(), say)),
  storage: async ({ corpus }) => storageSection(measureStorage(await corpus())),
  pages: async ({ corpus }) => {
    using directory = temporaryDirectory();
    using baselines = await createBaselines(directory.path, await corpus());
    return pagesSection(
      new Map([
        [1000, await measurePages(await corpus(), baselines, 1000)],
        [100, await measurePages(await corpus(), baselines, 100)],
      ]),
    );
  },
  nearest: async ({ corpus }) => nearestSection(await measureNearest(await corpus())),
  segments: async ({ corpus }) => segmentsFormatSection(await measureSegmentsFormat(await corpus())),
  transfer: async ({ httpCorpus }) => transferSection(await measureTransfer(await httpCorpus(), say)),
  large: async ({ corpus }) => largeSection(await measureLarge((await corpus()).place.archive, say)),
  growth: async () => growthSection(await measureGrowth(say)),
  sealed: async () => sealedSection(await measureSealed(say)),
  heatmaps: async () => heatMapSection(await measureHeatMaps(say)),
  frames: async ({ corpus }) => {
    const { place, large } = await corpus();
    return framesSection(
      await measureFrames(
        place.archive,
        large.map(({ market }) => market),
        say,
      ),
    );
  },
  accounts: async ({ httpCorpus }) => accountsSection(await measureAccounts(await httpCorpus(), say)),
  observation: async () => observationSection(await measureObservation()),
  imports: async ({ corpus }) => importsSection(await measureImports(await corpus())),
};

const USAGE = `usage: bun test/bench/run.ts [SECTION]… [--kinds NAME,…] [--contenders NAME,…] [--before EXECUTABLE]
sections: ${Object.keys(SECTIONS).join(', ')}
kinds of request over HTTP: nearest, nearest of each outcome, page of 100, page of 1000, market list of 1000
contenders other than bookreel: nginx, rows`;

/**
 * Measures everything and writes RESULTS.md next to this file, or measures the named sections and prints them. The last lines list
 * met and missed goals. A missed goal is not a failure.
 */
async function main(args: readonly string[]): Promise<number> {
  const options = { kinds: { type: 'string' }, contenders: { type: 'string' }, before: { type: 'string' } } as const;
  const { positionals: selected, values } = parseArgs({ args: [...args], options, allowPositionals: true });
  const kinds = values.kinds?.split(',');
  const isPart = selected.length > 0 || kinds !== undefined || values.contenders !== undefined;
  const unknown = selected.filter((name) => !(name in SECTIONS));
  if (unknown.length > 0) {
    say(USAGE);
    return 2;
  }
  const startedMs = performance.now();
  await using opened = new AsyncDisposableStack();
  const once = <T extends Disposable>(open: () => Promise<T>) => {
    let made: Promise<T> | undefined;
    return () => (made ??= open().then((value) => opened.use(value)));
  };
  const bench: Bench = {
    contenders: values.contenders?.split(','),
    before: values.before,
    corpus: once(openCorpus),
    httpCorpus: once(() => openHttpCorpus(kinds)),
  };
  const texts: string[] = [];
  const goals: Goal[] = [];
  for (const [name, measure] of Object.entries(SECTIONS)) {
    if (selected.length > 0 && !selected.includes(name)) continue;
    say(name);
    const section = await measuredOrLeftOut(name, () => measure(bench));
    texts.push(section.text);
    if (isPart) console.log(`${section.text}\n`);
    goals.push(...(section.goals ?? []));
  }
  if (isPart) {
    if (goals.length > 0) console.log(goalsSection(goals));
    return 0;
  }
  const head = await heading((await bench.corpus()).description, performance.now() - startedMs);
  await Bun.write(RESULTS, `${[head, goalsSection(goals), ...texts].join('\n\n')}\n`);
  say(verdict(goals));
  say(`written: ${RESULTS}`);
  return 0;
}

async function measuredOrLeftOut(name: string, measure: () => Promise<Section>): Promise<Section> {
  try {
    return await measure();
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    say(`  left out: ${error.message}`);
    return { text: `## Left out: ${name}\n\n${error.message}` };
  }
}

function say(line: string): void {
  console.error(line);
}

async function heading(description: string, elapsedMs: number): Promise<string> {
  return `# Measurements

${await circumstances('`make bench` (`bun test/bench/run.ts`)', elapsedMs)}
- corpus: ${description}

Each value is the median of its rounds, with the smallest and the largest one in brackets. Contenders run alternately, in changing
order. In process there are ${ROUNDS} rounds (imports: 7) after a warm-up, and each turn begins with a garbage collection and a run that is
not counted. Ratios compare medians of this run.`;
}

process.exitCode = await main(process.argv.slice(2));
