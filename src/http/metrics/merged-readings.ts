import type { Reading, Sample } from './metrics.ts';

/** The readings of a process, by the value of the label `process`. */
export type ProcessReadings = readonly [process: string, readings: readonly Reading[]];

/** The readings of the processes of one server as one, in the order of the first process that has them, see `across` of a metric. */
export function mergedReadings(processes: readonly ProcessReadings[]): Reading[] {
  const merged = new Map<string, Reading>();
  for (const [process, readings] of processes) {
    for (const reading of readings) {
      const own =
        reading.across === 'each'
          ? reading.samples.map((sample) => ({ ...sample, labels: { ...sample.labels, process } }))
          : reading.samples;
      const before = merged.get(reading.name)?.samples ?? [];
      merged.set(reading.name, { ...reading, samples: joined(reading.across, before, own) });
    }
  }
  return [...merged.values()];
}

/** The counts of a process that has ended, which remain in the sums of its server. */
export function endedReadings(readings: readonly Reading[]): Reading[] {
  return readings.filter(({ across, type }) => across === 'sum' && type !== 'gauge');
}

function joined(across: Reading['across'], before: readonly Sample[], own: readonly Sample[]): readonly Sample[] {
  if (before.length === 0) return own;
  if (across === undefined) return before;
  if (across === 'each') return [...before, ...own];
  const sums = new Map<string, Sample>();
  for (const sample of [...before, ...own]) {
    const key = JSON.stringify([sample.suffix, sample.labels]);
    sums.set(key, { ...sample, value: sample.value + (sums.get(key)?.value ?? 0) });
  }
  return [...sums.values()];
}
