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
import { siteTests } from './site.ts';
import { streamTests } from './stream.ts';
import { AMPLE_RPM, HERE, type OpenTarget, type Reach, type Suite, type Target } from './target.ts';

/** Some tests make thousands of requests. */
setDefaultTimeout(60_000);

/**
 * The HTTP interface of the contract, checked against the service that `open` starts or finds. Tests that want more than
 * `reach` has are skipped by name.
 */
export function contractSuite(name: string, open: OpenTarget, reach: Reach = HERE): void {
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
    describe('rules', () => ruleTests(suite));
    describe('records and markets', () => resourceTests(suite));
    describe('coins', () => coinTests(suite));
    describe('account', () => accountTests(suite));
    describe('filtered markets', () => marketFilterTests(suite));
    describe('time series', () => seriesTests(suite));
    describe('sampling', () => samplingTests(suite));
    describe('as of an instant', () => asOfTests(suite));
    describe('coverage', () => coverageTests(suite));
    describe('heat map', () => heatMapTests(suite));
    describe('overview', () => overviewTests(suite));
    describe('export', () => exportTests(suite));
    describe('stream', () => streamTests(suite));
    describe('parameters', () => parameterTests(suite));
    describe('formats', () => formatTests(suite));
    describe('outside /v1', () => siteTests(suite));
    describe('pages', () => pageTests(suite));
    describe.skipIf(!reach.plain)('malformed HTTP', () => malformedHttpTests(suite));
    describe('access', () => accessTests(suite));
  });
}
