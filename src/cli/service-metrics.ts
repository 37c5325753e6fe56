import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Histogram } from '../http/metrics/histogram.ts';
import { type Metric, Metrics, metric, type Sample, summed } from '../http/metrics/metrics.ts';
import { causeOf } from '../http/plugins/errors.ts';
import type { Log } from '../http/plugins/log.ts';
import { archiveSizes } from '../store/archive-sizes.ts';
import { sqliteVersion } from '../store/database.ts';
import { readLastBackup } from '../store/last-backup.ts';
import { RecorderFile } from '../store/recorder-file.ts';
import { unpublished } from '../store/unpublished.ts';
import type { AccountSite, Served } from './account-site.ts';
import type { Listener } from './listening.ts';
import type { ProcessLink } from './process-link.ts';
import { recorderMetrics } from './recorder-metrics.ts';
import type { ServedCertificate } from './tls.ts';
import { VERSION } from './version.ts';

/** The parts of a server that the metrics are read from. */
export interface Measured {
  readonly served: Served;
  readonly site: AccountSite | undefined;
  readonly log: Log;
  readonly certificate: Pick<ServedCertificate, 'current'> | undefined;
  readonly listener: () => Listener;
  readonly clock: () => number;
  /** Undefined: the server is one process. */
  readonly link: ProcessLink | undefined;
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

function serviceMetrics(measured: Measured, eventLoop: EventLoopDelay): Metric[] {
  const { served, site, log, certificate, listener, clock, link } = measured;
  const { archive, registry, activity, billing } = served;
  const databases = [archive.database, registry.database, activity.database];
  const coinSamples = (read: (coin: Coin) => number | undefined): Iterable<Sample> =>
    archive.database
      .readShared(() => archive.recordedCoins.all())
      .flatMap((coin) => {
        const value = read(coin);
        return value === undefined ? [] : [{ labels: { coin: coin.symbol }, value }];
      });
  const sizes = () => archive.database.readShared(() => archiveSizes(archive));
  const data = dirname(archive.database.path);
  const disk = () => statfsSync(data);
  const lastBackup = () => readLastBackup(data);
  const recorder = new RecorderFile(data);
  return [
    metric('gauge', 'bookreel_build_info', 'Versions of the running build; always 1.', () => [
      { labels: { version: VERSION, bun: Bun.version, sqlite: sqliteVersion() }, value: 1 },
    ]),
    ...processMetrics(),
    ...summed([
      metric('histogram', 'bookreel_event_loop_delay_seconds', 'How late a timer fired, ten times a second.', () =>
        eventLoop.samples(),
      ),
      metric('gauge', 'bookreel_http_requests_pending', 'Requests without a complete answer.', () => {
        return listener().pendingRequests;
      }),
      metric('gauge', 'bookreel_mails_waiting', 'Emails that wait for the mail server.', () =>
        site?.sendsMail === true ? [{ value: site.service.waitingMails(link?.isLeading ?? true) }] : [],
      ),
      metric(
        'counter',
        'bookreel_mails_total',
        'Emails that were sent, refused or given up, and tries that failed.',
        () =>
          Object.entries(site?.service.mailCounts() ?? {}).map(([result, value]) => ({ labels: { result }, value })),
      ),
      metric(
        'counter',
        'bookreel_limit_overflows_total',
        'Requests that only one process counted, because the table of limits was full.',
        () => link?.counts.overflows ?? 0,
      ),
    ]),
    ...logMetrics(log),
    metric('gauge', 'bookreel_database_bytes', 'Size of a database file.', () =>
      databases.map(({ path, file }) => ({ labels: { database: file.name }, value: sizeOf(path) })),
    ),
    metric('gauge', 'bookreel_database_wal_bytes', 'Size of the write-ahead log of a database.', () =>
      databases.map(({ path, file }) => ({ labels: { database: file.name }, value: sizeOf(`${path}-wal`) })),
    ),
    metric('gauge', 'bookreel_sealed_bytes', 'Size of the files of sealed markets.', () => sizes().sealed.bytes),
    metric('gauge', 'bookreel_sealed_markets', 'Markets in files of their own.', () => sizes().sealed.markets),
    metric('gauge', 'bookreel_open_markets', 'Markets in bookreel.db.', () => sizes().open.markets),
    metric('gauge', 'bookreel_unpublished_markets', 'New, sealed and deleted markets that are not published yet.', () =>
      archive.database.readShared(() => unpublished(archive.database)).map(({ markets: value }) => ({ value })),
    ),
    metric('gauge', 'bookreel_disk_size_bytes', 'Size of the file system of the data directory.', () => {
      const { blocks, bsize } = disk();
      return blocks * bsize;
    }),
    metric('gauge', 'bookreel_disk_free_bytes', 'Bytes of that file system that this user may still write.', () => {
      const { bavail, bsize } = disk();
      return bavail * bsize;
    }),
    ...(['success', 'failure'] as const).map((end) =>
      metric(
        'gauge',
        `bookreel_backup_last_${end}_timestamp_seconds`,
        `When the last backup ended with ${end}; 0: none has yet.`,
        () => (lastBackup()[end === 'success' ? 'succeededMs' : 'failedMs'] ?? 0) / 1000,
      ),
    ),
    metric('gauge', 'bookreel_backup_age_seconds', 'Time since the last successful backup.', () => {
      const { succeededMs } = lastBackup();
      return succeededMs === undefined ? [] : [{ value: (clock() - succeededMs) / 1000 }];
    }),
    metric('gauge', 'bookreel_markets', 'Stored markets.', () => coinSamples(({ markets }) => markets)),
    metric('gauge', 'bookreel_snapshots', 'Stored snapshots of order books; an import adds some.', () =>
      coinSamples(({ snapshots }) => snapshots),
    ),
    metric('gauge', 'bookreel_last_snapshot_timestamp_seconds', 'Time of the last stored snapshot.', () =>
      coinSamples(({ lastMs }) => (lastMs === undefined ? undefined : lastMs / 1000)),
    ),
    ...recorderMetrics(() => recorder.reading(clock())),
    metric('gauge', 'bookreel_tls_certificate_expiry_timestamp_seconds', 'When the certificate expires.', () =>
      certificate === undefined ? [] : [{ value: certificate.current.expiresMs / 1000 }],
    ),
    metric('gauge', 'bookreel_payments_pending', 'Payments that their chain has not confirmed yet.', () =>
      billing === undefined ? [] : [{ value: registry.database.readShared(() => registry.payments.pendingCount()) }],
    ),
    ...(['balance', 'transfers'] as const).map((field) =>
      metric(
        'gauge',
        `bookreel_gas_${field}`,
        `The balance of the gas key of a network${field === 'balance' ? '' : ', in transfers that it pays for'}.`,
        () =>
          (billing?.gas.readings ?? []).flatMap(({ network, [field]: value }) =>
            value === undefined ? [] : { labels: { network }, value },
          ),
      ),
    ),
  ];
}

type Coin = ReturnType<Served['archive']['recordedCoins']['all']>[number];

/** The metrics of the log that a process writes. */
export function logMetrics(log: Log): Metric[] {
  return summed([
    metric('counter', 'bookreel_log_messages_total', 'Messages for the log, without the lines of requests.', () =>
      Object.entries(log.counts).map(([level, value]) => ({ labels: { level }, value })),
    ),
    metric('counter', 'bookreel_log_dropped_lines_total', 'Lines that were lost because nobody read the log.', () => {
      return log.dropped;
    }),
  ]);
}

/** The names that Prometheus gives to these metrics of any process. */
export function processMetrics(): Metric[] {
  const metrics = [
    metric('counter', 'process_cpu_seconds_total', 'CPU time of the process.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    metric('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
    metric('gauge', 'process_start_time_seconds', 'When the process started.', () => performance.timeOrigin / 1000),
    metric('gauge', 'process_open_fds', 'Open files and connections.', () =>
      procSample(() => readdirSync('/proc/self/fd').length),
    ),
    metric('gauge', 'process_max_fds', 'Maximum number of open files and connections.', () =>
      procSample(() => Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1])),
    ),
  ];
  return metrics.map((each) => ({ ...each, across: 'each' }));
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
