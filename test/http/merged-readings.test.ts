import { expect, test } from 'bun:test';
import { endedReadings, mergedReadings } from '../../src/http/metrics/merged-readings.ts';
import { Metrics, metric, metricsText, summed } from '../../src/http/metrics/metrics.ts';

const metricsOf = (requests: Readonly<Record<string, number>>, open: number, memory: number, markets: number) => {
  const metrics = new Metrics((_, error) => {
    throw error;
  });
  metrics.add(
    ...summed([
      metric('counter', 'requests_total', 'Requests.', () =>
        Object.entries(requests).map(([route, value]) => ({ labels: { route }, value })),
      ),
      metric('gauge', 'open', 'Open.', () => open),
    ]),
    { ...metric('gauge', 'memory', 'Memory.', () => memory), across: 'each' },
    metric('gauge', 'markets', 'Markets.', () => (markets === 0 ? [] : [{ value: markets }])),
  );
  return metrics.read();
};

test('Counts are the sums of all processes; what a sum says nothing about has the process as a label, or is shown once.', () => {
  const merged = mergedReadings([
    ['1', metricsOf({ a: 1, b: 2 }, 3, 10, 0)],
    ['2', metricsOf({ b: 20, c: 30 }, 4, 20, 7)],
    ['3', metricsOf({}, 0, 30, 8)],
  ]);
  expect(metricsText(merged)).toBe(`# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{route="a"} 1
requests_total{route="b"} 22
requests_total{route="c"} 30
# HELP open Open.
# TYPE open gauge
open 7
# HELP memory Memory.
# TYPE memory gauge
memory{process="1"} 10
memory{process="2"} 20
memory{process="3"} 30
# HELP markets Markets.
# TYPE markets gauge
markets 7
`);
});

test('The counts of a process that has ended remain, and what it had open does not.', () => {
  const ended = endedReadings(metricsOf({ a: 5 }, 3, 10, 7));
  const merged = mergedReadings([
    ['1', metricsOf({ a: 1 }, 1, 10, 7)],
    ['ended', ended],
  ]);
  expect(merged.map(({ name, samples }) => [name, samples.map(({ value }) => value)])).toEqual([
    ['requests_total', [6]],
    ['open', [1]],
    ['memory', [10]],
    ['markets', [7]],
  ]);
});
