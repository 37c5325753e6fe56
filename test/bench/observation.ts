import { closeSync, openSync } from 'node:fs';
import { logDescriptor } from '../../src/cli/log-descriptor.ts';
import { RequestMetrics } from '../../src/http/metrics/request-metrics.ts';
import { AccessLog } from '../../src/http/plugins/access-log.ts';
import { ClientAddresses } from '../../src/http/plugins/client-address.ts';
import { Log } from '../../src/http/plugins/log.ts';
import { ObservedRequest, type RequestObservation } from '../../src/http/plugins/observed-request.ts';
import { type Section, shown, table } from './report.ts';
import { ROUNDS, type Spread, spreadOf } from './rounds.ts';

/** Requests between two turns of the event loop, in which the log is written. */
const TURN = 64;
const TURNS = 400;
const MICROS_MAX = 3;
const PATH =
  '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1/snapshots/at/1767868300000?outcome=up&depth=2';
const ROUTE = '/v1/:coin/markets/:conditionId/snapshots/at/:ts';
const ANSWER_BYTES = 900;

/** Microseconds of CPU per request, of all threads of the process, by what is turned on. */
type ObservationFigures = ReadonlyMap<string, Spread>;

/** Measures what metrics and the access log do for a request, on a request of a real connection. */
export async function measureObservation(): Promise<ObservationFigures> {
  const nowhere = openSync('/dev/null', 'w');
  const clocks = () => ({ monotonicMs: performance.now(), wallMs: Date.now() });
  const log = new Log({ sink: logDescriptor(nowhere), format: 'json', level: 'info', nowMs: Date.now });
  const accessLog = new AccessLog(log);
  const metrics = new RequestMetrics();
  const variants: Readonly<Record<string, RequestObservation>> = {
    metrics: { accessLog: undefined, metrics, clocks },
    'the access log': { accessLog, metrics: undefined, clocks },
    both: { accessLog, metrics, clocks },
  };
  const measured = Promise.withResolvers<ObservationFigures>();
  using server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // The request ends after the measurement.
    idleTimeout: 0,
    fetch: async (request) => {
      await microsOf(request, server, variants, log).then(measured.resolve, measured.reject);
      return new Response();
    },
  });
  const asked = fetch(new URL(PATH, server.url), { headers: { 'user-agent': 'python-requests/2.32.3' } });
  const figures = await measured.promise;
  await asked;
  closeSync(nowhere);
  return figures;
}

async function microsOf(
  request: Request,
  server: Bun.Server<undefined>,
  variants: Readonly<Record<string, RequestObservation>>,
  log: Log,
): Promise<ObservationFigures> {
  const addresses = new ClientAddresses([], () => server);
  const requestId = crypto.randomUUID();
  const samples = new Map(Object.keys(variants).map((name): [string, number[]] => [name, []]));
  // The first round is a warm-up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, observation] of Object.entries(variants)) {
      Bun.gc(true);
      const before = process.cpuUsage();
      for (let turn = 0; turn < TURNS; turn += 1) {
        for (let nth = 0; nth < TURN; nth += 1) {
          const address = observation.accessLog === undefined ? '' : addresses.of(request);
          const observed = new ObservedRequest(observation, request, requestId, address);
          observed.route = ROUTE;
          observed.keyId = 'key_0123456789abcdef';
          observed.tier = 'pro';
          observed.answered(200, ANSWER_BYTES);
        }
        await log.flush();
      }
      observation.accessLog?.flush();
      await log.flush();
      const { user, system } = process.cpuUsage(before);
      if (round > 0) samples.get(name)!.push((user + system) / (TURNS * TURN));
    }
  }
  if (log.dropped > 0) throw new Error(`${log.dropped} lines were dropped`);
  return new Map([...samples].map(([name, values]) => [name, spreadOf(values)]));
}

export function observationSection(micros: ObservationFigures): Section {
  const both = micros.get('both')!.median;
  return {
    text: `## Metrics and the access log

CPU time per request of what observes it, in this process, on a request of a real connection: its address, its counts, and its line, which is written to /dev/null. ${ROUNDS} rounds of ${TURNS * TURN} requests.

${table(
  ['turned on', 'µs of CPU per request'],
  [...micros].map(([name, spread]) => [name, shown(spread)]),
)}`,
    goals: [
      {
        figure: 'CPU of metrics and access log per request',
        required: `≤ ${MICROS_MAX} µs`,
        measured: `${both.toFixed(2)} µs`,
        met: both <= MICROS_MAX,
      },
    ],
  };
}
