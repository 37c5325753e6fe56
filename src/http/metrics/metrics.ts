export type Labels = Readonly<Record<string, string>>;

/** A value of a metric. `suffix`: the end of a histogram's name. */
export interface Sample {
  readonly value: number;
  readonly labels?: Labels;
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

/** A metric. Names and units follow the conventions of Prometheus. */
interface Described {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /**
   * What becomes of the samples of the processes of one server. `sum`: samples with the same labels are added. `each`: all are kept, with
   * the label `process`. Left out: every process would say the same, and those of the first one that has any are kept.
   */
  readonly across?: 'sum' | 'each';
}

/** A metric with all of its samples. */
export interface Metric extends Described {
  /** Called for each scrape. */
  readonly samples: () => Iterable<Sample>;
}

/** The samples of a metric at one moment. */
export interface Reading extends Described {
  readonly samples: readonly Sample[];
}

/** The media type of the text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The metrics of a process in the text format of Prometheus, version 0.0.4. The format is short, so no library writes it. Counting a
 * request must be cheap, and figures of the stores are read only when they are scraped.
 */
export class Metrics {
  readonly #metrics: Metric[] = [];
  readonly #onFailure: (name: string, error: unknown) => void;

  /** `onFailure` gets the error of a metric that cannot be read now. The others are still shown. */
  constructor(onFailure: (name: string, error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  add(...metrics: readonly Metric[]): void {
    this.#metrics.push(...metrics);
  }

  /** The samples of now. Metrics without any are left out. */
  read(): Reading[] {
    return this.#metrics.flatMap(({ samples, ...described }) => {
      try {
        const found = [...samples()];
        return found.length === 0 ? [] : [{ ...described, samples: found }];
      } catch (error) {
        this.#onFailure(described.name, error);
        return [];
      }
    });
  }

  text(): string {
    return metricsText(this.read());
  }
}

/** Readings in the text format. */
export function metricsText(readings: readonly Reading[]): string {
  return readings
    .map(({ name, type, help, samples }) => {
      const lines = samples.map(
        ({ value, labels, suffix = '' }) => `${name}${suffix}${labelsText(labels)} ${numberText(value)}\n`,
      );
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
    })
    .join('');
}

/** Metrics whose samples are added up across processes. */
export function summed(metrics: readonly Metric[]): Metric[] {
  return metrics.map((metric) => ({ ...metric, across: 'sum' }));
}

/** A metric. `read` is called for each scrape, and returns its samples, or the value of the only one, which has no labels. */
export function metric(
  type: Metric['type'],
  name: string,
  help: string,
  read: () => number | Iterable<Sample>,
): Metric {
  return {
    name,
    type,
    help,
    samples: () => {
      const found = read();
      return typeof found === 'number' ? [{ value: found }] : found;
    },
  };
}

function labelsText(labels: Labels = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function numberText(value: number): string {
  return value === Infinity ? '+Inf' : value === -Infinity ? '-Inf' : String(value);
}
