import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { UsageCounter } from '../../src/http/response/request-usage.ts';
import { openActivity } from '../../src/store/activity.ts';
import { openRegistry } from '../../src/store/registry.ts';
import { NOW_MS, temporaryArchive, temporaryDirectory } from '../support/archive.ts';
import { startServer } from '../support/executable.ts';
import type { HttpCorpus } from './http/corpus.ts';
import { measureRates } from './http/trial.ts';
import { type Section, shown, table, times } from './report.ts';
import { measure, type Spread } from './rounds.ts';

const FEW = 10;
const MANY = 10_000;
const KEYS_EACH = 3;
const CLIENTS = 16;
const ROUNDS = 9;
const SECONDS = 2;
const COUNTED = 200_000;
const FLUSHED_ROWS = 3000;
const RATIO_MAX = 1.1;
const COUNT_MICROS_MAX = 2;
const KINDS = ['nearest', 'page of 100'];

interface AccountFigures {
  /** Microseconds of a request by kind; of requests with all keys in turn. */
  readonly requests: ReadonlyMap<string, { readonly few: Spread; readonly many: Spread; readonly ratio: number }>;
  /** Microseconds of counting a request. */
  readonly count: Spread;
  /** Milliseconds of storing 3,000 rows. */
  readonly flush: Spread;
}

/** Measures the executable with ten accounts and with 10,000, and the cost of usage. */
export async function measureAccounts(corpus: HttpCorpus, say: (line: string) => void): Promise<AccountFigures> {
  using directory = temporaryDirectory();
  const [few, many] = [
    withAccounts(corpus, join(directory.path, 'few'), FEW),
    withAccounts(corpus, join(directory.path, 'many'), MANY),
  ];
  await using fewServer = await startServer(few.data);
  await using manyServer = await startServer(many.data);
  await useOnce(fewServer.origin, few.keys);
  await useOnce(manyServer.origin, many.keys);
  const requests = new Map<string, { few: Spread; many: Spread; ratio: number }>();
  for (const { name, paths } of corpus.kinds.filter((kind) => KINDS.includes(kind.name))) {
    const asks = (keys: readonly string[]) =>
      paths.map((path, index) => ({
        path,
        headers: { authorization: `Bearer ${keys[index % keys.length]}`, 'accept-encoding': 'identity' },
      }));
    const rates = await measureRates(
      [
        { name: 'few', origin: fewServer.origin, asks: asks(few.keys) },
        { name: 'many', origin: manyServer.origin, asks: asks(many.keys) },
      ],
      { rounds: ROUNDS, seconds: SECONDS, directory: directory.path },
    );
    const [first, second] = ['few', 'many'].map((trial) => microsOf(rates.get(trial)!.requestsPerSecond));
    const ratio = second!.median / first!.median;
    requests.set(name, { few: first!, many: second!, ratio });
    say(`  ${name}: ${times(ratio)} the time`);
  }
  return { requests, ...(await measureUsage()) };
}

/** A request with each key: the measurement is of keys that were used before. */
async function useOnce(origin: string, keys: readonly string[]): Promise<void> {
  const waiting = [...keys];
  const worker = async () => {
    for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
      await fetch(`${origin}/v1/account`, { headers: { authorization: `Bearer ${key}` } });
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, worker));
}

/** A copy of the corpus with this number of accounts, without an upper limit of requests in practice. */
function withAccounts(corpus: HttpCorpus, data: string, count: number): { data: string; keys: string[] } {
  cpSync(corpus.data, data, { recursive: true });
  using registry = openRegistry(data, { create: false });
  const keys: string[] = [];
  registry.database.write(() => {
    for (let nth = 0; nth < count; nth += 1) {
      const { id: accountId } = registry.accounts.create({ email: `p${nth}@example.com` }, NOW_MS);
      const term = { source: 'operator', tier: 'enterprise', startsMs: NOW_MS, endsMs: undefined } as const;
      registry.grants.add({ ...term, accountId }, NOW_MS);
      for (let key = 0; key < KEYS_EACH; key += 1) {
        const request = { accountId, name: undefined, tier: undefined, requestsPerMinute: 1_000_000 };
        keys.push(registry.apiKeys.create(request, NOW_MS).key);
      }
    }
  });
  return { data, keys };
}

async function measureUsage(): Promise<Pick<AccountFigures, 'count' | 'flush'>> {
  using held = temporaryArchive();
  using activity = openActivity(held.path);
  const keyIds = Array.from({ length: FLUSHED_ROWS / KEYS_EACH }, (_, nth) => `key_${nth}`);
  const routes = ['/v1/:coin/markets', '/v1/:coin/markets/:conditionId/snapshots/at/:ts', '/v1/coins'];
  const { usage } = activity;
  const counter = new UsageCounter(usage, Date.now);
  const count = (nth: number) =>
    counter.of(keyIds[nth % keyIds.length]!, routes[nth % routes.length]!, false).answered(200, 3000);
  const counted = await measure([{ name: 'count', times: COUNTED, run: count }]);
  let hour = NOW_MS;
  const flushed = await measure([
    {
      name: 'flush',
      times: 1,
      run: () => {
        hour += 3_600_000;
        for (const keyId of keyIds) for (const route of routes) usage.count(keyId, route, 200, 1, hour);
        usage.flush(hour);
      },
    },
  ]);
  const { median, min, max } = flushed.get('flush')!;
  return { count: counted.get('count')!, flush: { median: median / 1000, min: min / 1000, max: max / 1000 } };
}

export function accountsSection({ requests, count, flush }: AccountFigures): Section {
  const rows = [...requests].map(([name, { few, many, ratio }]) => [name, shown(few), shown(many), times(ratio)]);
  const text = `## Accounts and usage

The executable with ${FEW} accounts and with ${MANY}, each with ${KEYS_EACH} keys that have the tier of the account; requests use all keys in turn, and each key was used before.
A request's time is one second divided by the requests in it; ${ROUNDS} rounds of ${SECONDS} s.

${table(['request', `µs, ${FEW} accounts`, `µs, ${MANY} accounts`, 'many : few'], rows)}

${table(
  ['usage', 'measured'],
  [
    ['to count a request, µs', shown(count)],
    [`to store ${FLUSHED_ROWS} rows, ms`, shown(flush)],
  ],
)}`;
  const ratios = [...requests].map(([name, { ratio }]) => ({
    figure: `${name} with ${MANY} accounts, to ${FEW}`,
    required: `≤ ${times(RATIO_MAX)}`,
    measured: times(ratio),
    met: ratio <= RATIO_MAX,
  }));
  const micros = {
    figure: 'to count a request',
    required: `≤ ${COUNT_MICROS_MAX} µs`,
    measured: `${count.median.toFixed(2)} µs`,
    met: count.median <= COUNT_MICROS_MAX,
  };
  return { text, goals: [...ratios, micros] };
}

function microsOf({ median, min, max }: Spread): Spread {
  return { median: 1e6 / median, min: 1e6 / max, max: 1e6 / min };
}
