import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Histogram } from '../http/metrics/histogram.ts';
import { type Metric, Metrics, type Sample, single } from '../http/metrics/metrics.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { sqliteVersion } from '../store/database.ts';
import type { AccountSite, Served } from './account-site.ts';
import type { Listener } from './listening.ts';
import type { ServedCertificate } from './tls.ts';
import { VERSION } from './version.ts';

/** The parts of a server that the metrics are read from. */
export interface Measured {
  readonly served: Served;
  readonly site: AccountSite | undefined;
  readonly log: Log;
  readonly certificate: ServedCertificate | undefined;
  readonly listener: () => Listener;
}

const DELAY_LOOK_MS = 100;
/** Seconds. */
const DELAYS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** How late timers fire: other work keeps the event loop busy for that time. */
class EventLoopDelay implements Disposable {
  readonly #delays = new Histogram(DELAYS);
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let dueMs = performance.now() + DELAY_LOOK_MS;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#delays.observe(Math.max(0, nowMs - dueMs) / 1000);
      dueMs = nowMs + DELAY_LOOK_MS;
    }, DELAY_LOOK_MS);
  }

  samples(): Iterable<Sample> {
    return this.#delays.samples();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** The metrics of a server, except those of its requests, and what measures them until it is disposed of. */
export function measure(measured: Measured): Disposable & { readonly metrics: Metrics } {
  const { log } = measured;
  const metrics = new Metrics((name, error) => log.error(`the metric ${name} was left out: ${causeOf(error)}`));
  const eventLoop = new EventLoopDelay();
  metrics.add(...serviceMetrics(measured, eventLoop));
  return { metrics, [Symbol.dispose]: () => eventLoop[Symbol.dispose]() };
}

function serviceMetrics({ served, site, log, certificate, listener }: Measured, eventLoop: EventLoopDelay): Metric[] {
  const { archive, registry, activity, billing } = served;
  const databases = [archive.database, registry.database, activity.database];
  const coinSamples = (read: (coin: Coin) => number | undefined): Iterable<Sample> =>
    archive.database
      .readShared(() => archive.recordedCoins.all())
      .flatMap((coin) => {
        const value = read(coin);
        return value === undefined ? [] : [{ labels: { coin: coin.symbol }, value }];
      });
  const disk = () => statfsSync(dirname(archive.database.path));
  return [
    {
      name: 'bookreel_build_info',
      type: 'gauge',
      help: 'Versions of the running build; always 1.',
      samples: () => [{ labels: { version: VERSION, bun: Bun.version, sqlite: sqliteVersion() }, value: 1 }],
    },
    ...processMetrics(),
    {
      name: 'bookreel_event_loop_delay_seconds',
      type: 'histogram',
      help: 'How late a timer fired, ten times a second.',
      samples: () => eventLoop.samples(),
    },
    single('gauge', 'bookreel_http_requests_pending', 'Requests without a complete answer.', () => {
      return listener().pendingRequests;
    }),
    {
      name: 'bookreel_database_bytes',
      type: 'gauge',
      help: 'Size of a database file.',
      samples: () => databases.map(({ path, file }) => ({ labels: { database: file.name }, value: sizeOf(path) })),
    },
    {
      name: 'bookreel_database_wal_bytes',
      type: 'gauge',
      help: 'Size of the write-ahead log of a database.',
      samples: () =>
        databases.map(({ path, file }) => ({ labels: { database: file.name }, value: sizeOf(`${path}-wal`) })),
    },
    single('gauge', 'bookreel_disk_size_bytes', 'Size of the file system of the data directory.', () => {
      const { blocks, bsize } = disk();
      return blocks * bsize;
    }),
    single('gauge', 'bookreel_disk_free_bytes', 'Bytes of that file system that this user may still write.', () => {
      const { bavail, bsize } = disk();
      return bavail * bsize;
    }),
    {
      name: 'bookreel_markets',
      type: 'gauge',
      help: 'Stored markets.',
      samples: () => coinSamples(({ markets }) => markets),
    },
    {
      name: 'bookreel_snapshots',
      type: 'gauge',
      help: 'Stored snapshots of order books; an import adds some.',
      samples: () => coinSamples(({ snapshots }) => snapshots),
    },
    {
      name: 'bookreel_last_snapshot_timestamp_seconds',
      type: 'gauge',
      help: 'Time of the last stored snapshot.',
      samples: () => coinSamples(({ lastMs }) => (lastMs === undefined ? undefined : lastMs / 1000)),
    },
    {
      name: 'bookreel_log_messages_total',
      type: 'counter',
      help: 'Messages for the log, without the lines of requests.',
      samples: () => Object.entries(log.counts).map(([level, value]) => ({ labels: { level }, value })),
    },
    single('counter', 'bookreel_log_dropped_lines_total', 'Lines that were lost because nobody read the log.', () => {
      return log.dropped;
    }),
    {
      name: 'bookreel_tls_certificate_expiry_timestamp_seconds',
      type: 'gauge',
      help: 'When the certificate expires.',
      samples: () => (certificate === undefined ? [] : [{ value: certificate.current.expiresMs / 1000 }]),
    },
    {
      name: 'bookreel_mails_waiting',
      type: 'gauge',
      help: 'Mails that wait for the mail server.',
      samples: () => (site?.sendsMail === true ? [{ value: site.waitingMails() }] : []),
    },
    {
      name: 'bookreel_payments_pending',
      type: 'gauge',
      help: 'Payments that their chain has not confirmed yet.',
      samples: () =>
        billing === undefined ? [] : [{ value: registry.database.readShared(() => registry.payments.pendingCount()) }],
    },
    ...(['balance', 'transfers'] as const).map(
      (field): Metric => ({
        name: `bookreel_gas_${field}`,
        type: 'gauge',
        help: `The balance of the gas key of a network${field === 'balance' ? '' : ', in transfers that it pays for'}.`,
        samples: () =>
          (billing?.gas.readings ?? []).flatMap(({ network, [field]: value }) =>
            value === undefined ? [] : { labels: { network }, value },
          ),
      }),
    ),
  ];
}

type Coin = ReturnType<Served['archive']['recordedCoins']['all']>[number];

/** The names that Prometheus gives to these metrics of any process. */
function processMetrics(): Metric[] {
  return [
    single('counter', 'process_cpu_seconds_total', 'CPU time of the process.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    single('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
    single('gauge', 'process_start_time_seconds', 'When the process started.', () => performance.timeOrigin / 1000),
    {
      name: 'process_open_fds',
      type: 'gauge',
      help: 'Open files and connections.',
      samples: () => procSample(() => readdirSync('/proc/self/fd').length),
    },
    {
      name: 'process_max_fds',
      type: 'gauge',
      help: 'Maximum number of open files and connections.',
      samples: () =>
        procSample(() => Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])),
    },
  ];
}

/** No sample on systems without /proc. */
function procSample(read: () => number): Sample[] {
  try {
    return [{ value: read() }];
  } catch {
    return [];
  }
}

/** 0 for a file that does not exist: a write-ahead log is created by the first write. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
