/** Metrics in the text format of Prometheus, as a reader of the format sees them. */
export interface Scraped {
  readonly text: string;
  /** The names of all samples and of all metrics. */
  readonly names: ReadonlySet<string>;
  /** The sum of the samples of this name that have these labels; 0 without any. */
  sum(name: string, labels?: Readonly<Record<string, string>>): number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function scrapedFrom(text: string): Scraped {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const samples = lines.map((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a sample: ${line}`);
    const pairs = [...labels.matchAll(LABEL)].map(([, key, text]) => [key!, text!] as const);
    return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Infinity : Number(value) };
  });
  const described = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
  return {
    text,
    names: new Set([...described, ...samples.map(({ name }) => name)]),
    sum: (name, labels = {}) =>
      samples
        .filter((sample) => sample.name === name)
        .filter((sample) => Object.entries(labels).every(([key, value]) => sample.labels[key] === value))
        .reduce((sum, { value }) => sum + value, 0),
  };
}
