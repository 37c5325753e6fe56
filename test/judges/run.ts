import { judgeByBadRequests } from './bad-requests.ts';
import { judgeByPostfix } from './postfix.ts';
import { judgeByPrism } from './prism.ts';
import { judgeByProperties } from './properties.ts';
import { judgeBySpecmatic } from './specmatic.ts';
import { tableOf, type Verdict } from './verdict.ts';

/**
 * Tests by external tools and by generated requests: `make judge`. REQUESTS is the minimum number of bad requests, PROPERTY_RUNS
 * the number of checks of each property, SEED the seed of both; JUDGES selects some. Prints a table and a line of counts. The exit
 * code is 1 if a judge found a failure.
 */
const REQUESTS = Number(process.env.REQUESTS ?? 100_000);
const PROPERTY_RUNS = Number(process.env.PROPERTY_RUNS ?? 200);
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

const JUDGES: Readonly<Record<string, () => Promise<Verdict>>> = {
  requests: () => judgeByBadRequests(REQUESTS, SEED),
  properties: () => judgeByProperties(PROPERTY_RUNS, SEED),
  prism: judgeByPrism,
  specmatic: judgeBySpecmatic,
  postfix: judgeByPostfix,
};

async function main(): Promise<number> {
  console.log(`SEED=${SEED}`);
  const selection = process.env.JUDGES ?? '';
  const names = selection === '' ? Object.keys(JUDGES) : selection.split(',');
  const verdicts: Verdict[] = [];
  for (const name of names) {
    const judge = JUDGES[name];
    if (judge === undefined) throw new Error(`'${name}' is not a judge; choose from ${Object.keys(JUDGES).join(', ')}`);
    const verdict = await judge();
    for (const failure of verdict.failures) console.log(`${verdict.judge}: ${failure}`);
    verdicts.push(verdict);
  }
  console.log(tableOf(verdicts));
  return verdicts.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

process.exit(await main());
