import { figure, type Goal, ratioGoal, type Section, shown, table, times } from '../report.ts';
import type { Comparison, ContenderId } from './compare.ts';
import type { FormatRates } from './formats.ts';
import type { Rate } from './trial.ts';
import { repeatsSentence } from './wrk.ts';

/** Required ratio of bookreel's requests per second to another's, by kind of request. */
const RATIOS: readonly (readonly [kind: string, Partial<Record<ContenderId, number>>])[] = [
  ['page of 1000', { rows: 35, nginx: 0.6 }],
  ['page of 100', { rows: 20, nginx: 0.3 }],
  ['nearest', { rows: 4, nginx: 0.4 }],
  ['market list of 1000', { rows: 10, nginx: 0.6 }],
];
const SHORT: Record<ContenderId, string> = {
  bookreel: 'bookreel',
  nginx: 'nginx, static files',
  rows: 'Fastify + rows + JSON.stringify',
};

export function comparisonSection(description: string, { names, leftOut, tools, rates }: Comparison): Section {
  const tables = [...rates].map(([kind, measured]) => {
    const ours = measured.get('bookreel')!;
    const rows = [...measured].map(([id, rate]) => [
      names.get(id)!,
      shown(rate.requestsPerSecond),
      megabytes(rate),
      id === 'bookreel' ? '' : times(ours.requestsPerSecond.median / rate.requestsPerSecond.median),
    ]);
    return `### ${kind}, ${kilobytes(ours)} kB\n\n${table(['server', 'requests a second', 'MB/s', 'bookreel is'], rows)}`;
  });
  const turns = [...rates.values()].flatMap((measured) => [...measured.values()]);
  const repeats = repeatsSentence(total(turns, 'turns'), total(turns, 'repeats'));
  const missing = leftOut.map((line) => `\n\n**Left out:** ${line}`).join('');
  return {
    text: `## Over HTTP, compared with others

Corpus: ${description}.

bookreel is the compiled executable with every feature on: keys, tier, rate limit, entity tags, all headers. The others serve the same
records without these features. bookreel and Fastify are one process each; nginx has a worker per CPU. A check before the measurements requires that nginx sends the same
bytes as bookreel, and Fastify the same values.

Load (${tools}): one thread of wrk with 16 keep-alive connections on loopback, on the same machine, which reads every
byte. Each kind has different URLs (nearest: 65,536, pages of 100: 8,192, pages of 1000: 2,048, lists: 400), so few or none repeat within
a turn and few answers come from a cache. After a warm-up of one second, every server runs in each of 5 rounds of at least 2 s and 40
answers, in changing order. A failed answer fails the run. nginx has fewer files, all open and in memory, with short names: its best
case. Requests alternate between bookreel’s 8 keys, because each has a limit. "nearest" requests one outcome (\`outcome=up\`), "nearest
of each outcome" both. ${repeats}${missing}

${tables.join('\n\n')}`,
    goals: RATIOS.filter(([kind]) => rates.has(kind)).flatMap(([kind, ratios]) =>
      Object.entries(ratios).map(([id, ratio]): Goal => {
        const ours = rates.get(kind)?.get('bookreel')?.requestsPerSecond.median;
        const theirs = rates.get(kind)?.get(id as ContenderId)?.requestsPerSecond.median;
        const found = ours === undefined || theirs === undefined ? undefined : ours / theirs;
        return ratioGoal(`${kind}, against ${SHORT[id as ContenderId]}`, found, ratio);
      }),
    ),
  };
}

export function formatsSection(rates: FormatRates): Section {
  const rows = [...rates].flatMap(([kind, measured]) => {
    const json = measured.values().next().value!;
    return [...measured].map(([format, rate]) => [
      `${kind}: ${format}`,
      kilobytes(rate),
      shown(rate.requestsPerSecond),
      times(rate.requestsPerSecond.median / json.requestsPerSecond.median),
    ]);
  });
  return {
    text: `## Formats of bookreel's answers

The same load on bookreel alone, 3 rounds of 1 s; "the same URL" requests a single URL. A check requires that all formats have the same
values. Answers without an entity tag have no line for a current copy.

${table(['request', 'kB with headers', 'requests a second', 'of JSON'], rows)}`,
  };
}

function total(rates: readonly Rate[], field: 'turns' | 'repeats'): number {
  return rates.reduce((sum, rate) => sum + rate[field], 0);
}

function kilobytes({ bytes }: Rate): string {
  return figure(bytes / 1000);
}

function megabytes({ bytes, requestsPerSecond }: Rate): string {
  return figure((bytes * requestsPerSecond.median) / 1e6);
}
