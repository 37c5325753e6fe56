import { afterAll, beforeAll, describe, setDefaultTimeout } from 'bun:test';
import { accessTests } from './access.ts';
import { accountTests } from './account.ts';
import { asOfTests } from './as-of.ts';
import { type Client, clientOf } from './client.ts';
import { coinTests } from './coins.ts';
import { coverageTests } from './coverage.ts';
import { exportTests } from './export.ts';
import { formatTests } from './formats.ts';
import { heatMapTests } from './heatmap.ts';
import { malformedHttpTests } from './malformed-http.ts';
import { marketFilterTests } from './market-filters.ts';
import { overviewTests } from './overview.ts';
import { pageTests } from './pages.ts';
import { parameterTests } from './parameters.ts';
import { RECORDS } from './recording.ts';
import { resourceTests } from './resources.ts';
import { ruleTests } from './rules.ts';
import { samplingTests } from './sampling.ts';
import { seriesTests } from './series.ts';
import { scriptTests, siteTests } from './site.ts';
import { streamTests } from './stream.ts';
import { AMPLE_RPM, HERE, type OpenTarget, type Reach, type Suite, type Target } from './target.ts';

/** Some tests make thousands of requests. */
setDefaultTimeout(120_000);

/** The parts of the contract, and their tests. */
export const PARTS = {
  rules: ruleTests,
  'records and markets': resourceTests,
  coins: coinTests,
  account: accountTests,
  'filtered markets': marketFilterTests,
  'time series': seriesTests,
  sampling: samplingTests,
  'as of an instant': asOfTests,
  coverage: coverageTests,
  'heat map': heatMapTests,
  overview: overviewTests,
  export: exportTests,
  stream: streamTests,
  parameters: parameterTests,
  formats: formatTests,
  'outside /v1': siteTests,
  'the script of the reference': scriptTests,
  pages: pageTests,
  'malformed HTTP': malformedHttpTests,
  access: accessTests,
} satisfies Readonly<Record<string, (suite: Suite) => void>>;

export type Part = keyof typeof PARTS;

interface Extent {
  /** Tests that want more than this are skipped by name. */
  readonly reach?: Reach;
  /** All parts if left out. */
  readonly parts?: readonly Part[];
}

/** The HTTP interface of the contract, checked against the service that `open` starts or finds. */
export function contractSuite(
  name: string,
  open: OpenTarget,
  { reach = HERE, parts = Object.keys(PARTS) as Part[] }: Extent = {},
): void {
  describe(name, () => {
    let target: Target;
    let ampleKey: string;
    let client: Client;
    beforeAll(async () => {
      target = await open(RECORDS);
      ampleKey = (await target.makeKey('enterprise', { rpm: AMPLE_RPM })).key;
      client = clientOf(target.origin, ampleKey);
    });
    afterAll(async () => {
      await target[Symbol.asyncDispose]();
    });
    const suite: Suite = {
      get target() {
        return target;
      },
      get client() {
        return client;
      },
      get ampleKey() {
        return ampleKey;
      },
      open,
      reach,
    };
    for (const part of parts)
      describe.skipIf(part === 'malformed HTTP' && !reach.plain)(part, () => PARTS[part](suite));
  });
}
