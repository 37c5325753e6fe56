import { existsSync, type Stats, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { GasWatch as GasReader } from '../chain/gas-watch.ts';
import type { SettingValues } from '../config.ts';
import { DEMO_EMAIL } from '../domain/account.ts';
import { countText } from '../domain/count-text.ts';
import { lengthText, UNIT_MS } from '../domain/duration.ts';
import { formatInstant, type InstantMs } from '../domain/instant.ts';
import { isLoopback } from '../domain/loopback.ts';
import { problemLine, recorderProblems } from '../domain/recorder-problems.ts';
import { RECORDER_FILE } from '../domain/recorder-status.ts';
import { SERVER_FILE } from '../domain/server-status.ts';
import { containsAddress, type IpNetwork, isIpv4, parseIpAddress, parseIpNetwork } from '../http/plugins/ip-address.ts';
import { Accounts } from '../store/accounts.ts';
import { ApiKeys } from '../store/api-keys.ts';
import { Audit } from '../store/audit.ts';
import { keySecretFault } from '../store/backup.ts';
import { Database } from '../store/database.ts';
import { ACCOUNTS, DATABASES, type DatabaseFile, RECORDINGS } from '../store/database-file.ts';
import { freeBytes, lowDisk } from '../store/disk-floor.ts';
import { RESERVE_FILE } from '../store/disk-reserve.ts';
import { KEY_SECRET_FILE, KeySecret } from '../store/key-secret.ts';
import { BACKUP_AGE_MS_MAX, hasFailed, LAST_BACKUP_FILE, readLastBackup } from '../store/last-backup.ts';
import { RecorderFile } from '../store/recorder-file.ts';
import { SealedFiles } from '../store/sealed-files.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { DOWNLOAD_LOCK_FILE, LOCK_FILE, RECORD_LOCK_FILE } from '../store/serve-lock.ts';
import { type Unpublished, unpublished } from '../store/unpublished.ts';
import { refuseEarlyClock } from './build-time.ts';
import { certificateFiles, certificateWarning, certifiedHost, readCertificate } from './certificate.ts';
import { openWindows, windowsProblems } from './common-windows.ts';
import type { GivenSettings } from './given-settings.ts';
import { isEveryAddress } from './metrics-listener.ts';
import { certificateProblems, directoryProblems, fittingProblems, problemOf, secretProblems } from './start-checks.ts';

/** The findings of one check: sentences that say what to do. */
export interface Checkup {
  readonly check: string;
  readonly findings: readonly string[];
}

/** Other files of a data directory are left alone. */
const OWN_FILES = [
  ...DATABASES.flatMap(({ name }) => [name, `${name}-wal`, `${name}-shm`]),
  KEY_SECRET_FILE,
  LOCK_FILE,
  RECORD_LOCK_FILE,
  DOWNLOAD_LOCK_FILE,
  RESERVE_FILE,
  LAST_BACKUP_FILE,
  RECORDER_FILE,
  SERVER_FILE,
];
const FOR_OTHERS = 0o077;
/** SQLite restarts a log at 8 MB, or 32 MB while markets are deleted, unless a reader or a killed process prevents that. */
const WAL_BYTES_MAX = 64e6;
/** Types of statfs(2): NFS, SMB, CIFS and SMB2. Memory that processes share, which the write-ahead log needs, does not work there. */
const NETWORK_FILE_SYSTEMS = [0x6969, 0x517b, 0xff534d42, 0xfe534d42];
/** The largest private networks, 10.0.0.0/8 and fc00::/7. Shorter prefixes cover a large part of the internet. */
const PREFIX_MIN = { ipv4: 96 + 8, ipv6: 7 };
/** Loopback, private, shared (RFC 6598) and link-local networks. */
const PRIVATE = [
  ...['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '169.254.0.0/16'],
  ...['::1', 'fc00::/7', 'fe80::/10'],
];
/** Markets without a winner are sealed after 7 days, all others earlier. */
const LEFT_OPEN_MS = 10 * UNIT_MS.d!;
/** In an archive that has no sealed market, more than this number of others is reported. */
const LEFT_OPEN_MAX = 10_000;
/** The growth of the archive is that of the days before those that are not sealed yet. A disk is reported that is full earlier than `ahead`. */
const GROWTH_MS = { from: 10 * UNIT_MS.d!, to: 3 * UNIT_MS.d!, ahead: 14 * UNIT_MS.d! };
/** Corrections of a clock in usual operation are smaller. */
const CLOCK_SLACK_MS = 60_000;

/** All checks in their order, each with what it found. Changes nothing. */
export async function checkups({ problems, values }: GivenSettings, nowMs: InstantMs): Promise<readonly Checkup[]> {
  const { data } = values;
  const isThere = existsSync(data);
  const shared = directoryProblems(values);
  // A directory of another user cannot be read, or would get files of this one.
  const inDirectory = (find: () => string[]) => (isThere && shared.length === 0 ? find() : []);
  const databases = inDirectory(() => databaseFindings(data));
  const settings = problems.length > 0 ? problems : await fittingProblems(values);
  const clock = problemOf(() => refuseEarlyClock(nowMs));
  const secrets = [
    ...secretProblems(values),
    ...certificateProblems(values),
    ...certificateFindings(values, nowMs),
    ...readablePayments(values),
    ...inDirectory(() => keySecretFindings(data)),
  ];
  const isNotReportedYet = (sentence: string) => !databases.includes(sentence);
  return [
    { check: 'settings', findings: settings.filter(isNotReportedYet) },
    { check: 'clock', findings: [...clock, ...inDirectory(() => clockFindings(data, nowMs))] },
    { check: 'disk', findings: isThere ? inDirectory(() => diskFindings(values, nowMs)) : [missing(data)] },
    { check: 'permissions', findings: [...shared, ...inDirectory(() => permissionFindings(data))] },
    { check: 'databases', findings: [...databases, ...inDirectory(() => walFindings(data))] },
    { check: 'sealed markets', findings: inDirectory(() => sealedFindings(data, nowMs)) },
    { check: 'backup', findings: inDirectory(() => backupFindings(data, nowMs)) },
    { check: 'recorder', findings: inDirectory(() => recorderFindings(data, nowMs)) },
    { check: 'node', findings: await nodeFindingsOf(values, isThere) },
    { check: 'publication', findings: isThere && shared.length === 0 ? await publicationFindingsOf(data) : [] },
    { check: 'secrets', findings: secrets.filter(isNotReportedYet) },
    { check: 'windows', findings: secrets.length > 0 ? [] : await windowsFindings(values) },
    { check: 'proxy', findings: proxyFindings(values) },
    { check: 'demo', findings: inDirectory(() => demoFindings(values, nowMs)) },
    { check: 'payments', findings: await gasFindings(values) },
  ];
}

/** Sentences about settings that let a server start, but expose it or keep its clients away. Each says what to do. */
export function exposures(values: SettingValues, nowMs: InstantMs): readonly string[] {
  return [...certificateFindings(values, nowMs), ...proxyFindings(values)];
}

/** Reports a certificate that clients refuse, or will soon. */
function certificateFindings(values: SettingValues, nowMs: InstantMs): string[] {
  const files = certificateProblems(values).length > 0 ? undefined : certificateFiles(values);
  const host = certifiedHost(values.publicUrl, values.trustedProxies);
  const warning = files && certificateWarning(readCertificate(files), nowMs, host);
  return warning === undefined ? [] : [warning];
}

/** Files that are damaged, or belong to another program or another version of this one. */
function databaseFindings(directory: string): string[] {
  return DATABASES.flatMap((file) => {
    const path = join(directory, file.name);
    return existsSync(path) ? problemOf(() => Database.openToRead(path, file).close()) : [];
  });
}

function missing(directory: string): string {
  return `there is no data directory '${directory}': name it with --data, or create it with 'bookreel serve --data ${directory}'`;
}

function clockFindings(directory: string, nowMs: InstantMs): string[] {
  return inAccounts(directory, (database) => {
    const lastMs = new Audit(database).list(1)[0]?.atMs ?? nowMs;
    if (lastMs <= nowMs + CLOCK_SLACK_MS) return [];
    const [now, last] = [nowMs, lastMs].map(formatInstant);
    return [
      `the clock says ${now}, and the audit has an entry of ${last}: set the clock, for example with 'timedatectl set-ntp true'`,
    ];
  });
}

function diskFindings({ data, diskFloor }: SettingValues, nowMs: InstantMs): string[] {
  const low = lowDisk(data, diskFloor);
  if (low !== undefined) return [`${low}: free some space, 'du -x -d 1 ${data}' shows what takes it`];
  const keepMs = new RecorderFile(data).reading(nowMs).status?.keepMs ?? Infinity;
  return inRecordings(data, (sealed) => {
    const firstMs = Date.parse(sealed.firstDay() ?? '');
    const [from, to] = [nowMs - GROWTH_MS.from, nowMs - GROWTH_MS.to].map((ms) => formatInstant(ms).slice(0, 10));
    const perMs = sealed.bytesBetween(from!, to!) / (GROWTH_MS.from - GROWTH_MS.to);
    // Once the recorder deletes as much as it stores, the archive no longer grows.
    const growsMs = Math.min(GROWTH_MS.ahead, keepMs - (nowMs - firstMs));
    const leftMs = (freeBytes(data) - diskFloor.bytes) / perMs;
    if (Number.isNaN(growsMs) || leftMs >= growsMs) return [];
    return [
      `the recordings take ${((perMs * UNIT_MS.d!) / 1e6).toFixed(1)} MB a day, and the disk is full in ${lengthText(leftMs)}: free some space, or keep less with 'bookreel record --keep' or 'bookreel delete --before'`,
    ];
  });
}

/** Reports files of sealed markets that are missing or have another size, and markets that ended long ago and are not sealed. */
function sealedFindings(directory: string, nowMs: InstantMs): string[] {
  return inRecordings(directory, (sealed) => {
    const { markets: total } = sealed.totals();
    const broken: string[] = [];
    for (let market = sealed.after(-1); market !== undefined; market = sealed.after(market.key)) {
      const place = sealed.placeOf(market);
      if (statOf(place)?.size !== market.bytes) broken.push(place);
    }
    const { markets, firstMs } = sealed.leftOpen(nowMs - LEFT_OPEN_MS);
    const isSealing = total > 0 || markets > LEFT_OPEN_MAX;
    return [
      ...(broken.length === 0
        ? []
        : [
            `missing or of another size: ${countText(broken.length, 'file')} of ${countText(total, 'sealed market')}, the first is '${broken[0]}': run 'bookreel verify', and restore a backup`,
          ]),
      ...(markets === 0 || !isSealing
        ? []
        : [
            `not sealed 10 days after their end: ${countText(markets, 'market')}, the first since ${formatInstant(firstMs!)}; every backup copies what is not sealed: run 'systemctl enable --now bookreel-seal.timer', or 'bookreel seal', which says what prevents it`,
          ]),
    ];
  });
}

/**
 * Commands that were run as another user leave files that the server cannot open. The server's user is the owner of the directory or, if
 * that is root, of a database.
 */
function permissionFindings(directory: string): string[] {
  const owners = [directory, ...DATABASES.map(({ name }) => join(directory, name))].map(
    (path) => statOf(path)?.uid ?? 0,
  );
  const owner = owners.find((uid) => uid !== 0) ?? 0;
  return [directory, ...OWN_FILES.map((name) => join(directory, name))].flatMap((path) => {
    const found = statOf(path);
    if (found === undefined) return [];
    const { uid, mode } = found;
    const run = `run 'chown ${owner} ${path}'`;
    return [
      ...(uid === owner ? [] : [`'${path}' belongs to the user ${uid}, and the archive to ${owner}: ${run}`]),
      ...(path === directory ? [] : forOthers(path, mode)),
    ];
  });
}

/** Reports a file of payments that others may read: the URL of a node may have a password. It skips the file of another owner. */
function readablePayments({ payments }: SettingValues): string[] {
  const found = payments === undefined ? undefined : statOf(payments);
  if (payments === undefined || found?.uid !== process.getuid?.()) return [];
  return found === undefined ? [] : forOthers(payments, found.mode);
}

/** The stat of a file; undefined if it is missing or this user cannot find it, which another check reports. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

function forOthers(path: string, mode: number): string[] {
  return (mode & FOR_OTHERS) === 0 ? [] : [`other users may read or write '${path}': run 'chmod 600 ${path}'`];
}

function keySecretFindings(directory: string): string[] {
  let fault: string | undefined;
  const unreadable = problemOf(() => {
    fault = keySecretFault(directory);
  });
  if (fault === undefined) return unreadable;
  return [`${fault}, with 'bookreel restore BACKUP --data ${directory} --force'`];
}

/** `fileSystem`: its type as statfs(2) names it. */
export function walFindings(directory: string, fileSystem = statfsSync(directory).type): string[] {
  const large = DATABASES.flatMap(({ name }) => {
    const bytes = statOf(join(directory, `${name}-wal`))?.size ?? 0;
    if (bytes <= WAL_BYTES_MAX) return [];
    return [
      `the write-ahead log of ${name} has ${Math.round(bytes / 1e6)} MB, because a process has read for a long time or was killed: restart the server, with 'systemctl restart bookreel'`,
    ];
  });
  if (!NETWORK_FILE_SYSTEMS.includes(fileSystem)) return large;
  return [
    ...large,
    `'${directory}' is on a network file system, where a write-ahead log loses data: run 'bookreel backup' and 'bookreel restore' into a directory of a local disk`,
  ];
}

/** Reports a last backup that failed, is missing, or is older than a daily one can be. */
function backupFindings(directory: string, nowMs: InstantMs): string[] {
  const last = readLastBackup(directory);
  const { succeededMs, failedMs = 0, reason = '' } = last;
  if (hasFailed(last)) return [`the backup of ${formatInstant(failedMs)} failed: ${reason}`];
  if (succeededMs !== undefined && nowMs - succeededMs <= BACKUP_AGE_MS_MAX) return [];
  const since =
    succeededMs === undefined ? 'no backup was made yet' : `the last backup is of ${formatInstant(succeededMs)}`;
  return [
    `${since}: run 'systemctl enable --now bookreel-backup.timer', or 'bookreel backup DIRECTORY --keep 7' every day`,
  ];
}

function recorderFindings(directory: string, nowMs: InstantMs): string[] {
  return recorderProblems(new RecorderFile(directory).reading(nowMs), nowMs).map(problemLine);
}

function proxyFindings({ host, publicUrl, trustedProxies, tlsCert, ...others }: SettingValues): string[] {
  const findings: string[] = [];
  const { metricsHost, metricsPort } = others;
  if (metricsPort !== undefined && isPublicAddress(metricsHost)) {
    findings.push(
      `everybody who may connect to ${metricsHost}:${metricsPort} reads the metrics: name a private address of this machine with --metrics-host`,
    );
  }
  const isPublic = !isLoopback(host);
  const isUnproxied = trustedProxies.length === 0 && tlsCert === undefined;
  if (publicUrl?.startsWith('https:') === true && isUnproxied) {
    findings.push(
      "no proxy is trusted, so all clients share the limits of one address: add '--trusted-proxies loopback', or the proxy's address",
    );
  }
  if (trustedProxies.some(coversMostAddresses)) {
    findings.push(
      "--trusted-proxies covers most addresses, so clients can forge theirs with X-Forwarded-For: name only the proxies, as in '--trusted-proxies loopback'",
    );
  }
  if (isPublic && isUnproxied) {
    findings.push(
      `other machines may connect to ${host} without encryption: name a certificate with --tls-cert and --tls-key, or put a TLS proxy in front of it ('bookreel manual public')`,
    );
  }
  if (isPublic && trustedProxies.length > 0 && trustedProxies.every(isOfLoopback)) {
    findings.push(`clients on other machines can bypass the proxy on this one: add '--host 127.0.0.1'`);
  }
  return findings;
}

/** Returns true for all addresses of this machine at once, and for an address that the internet may route. */
function isPublicAddress(host: string): boolean {
  const address = parseIpAddress(host);
  if (isEveryAddress(host)) return true;
  return address !== undefined && !PRIVATE.some((network) => containsAddress(parseIpNetwork(network)!, address));
}

function coversMostAddresses({ address, bits }: IpNetwork): boolean {
  return bits < (isIpv4(address) ? PREFIX_MIN.ipv4 : PREFIX_MIN.ipv6);
}

function isOfLoopback({ address, bits }: IpNetwork): boolean {
  return address === 1n || (isIpv4(address) && bits >= PREFIX_MIN.ipv4 && ((address >> 24n) & 255n) === 127n);
}

/** Reports gas keys that are almost empty, and nodes that do not answer. What is wrong with the file, other checks report. */
async function gasFindings({ payments }: SettingValues): Promise<string[]> {
  if (payments === undefined) return [];
  const { GasWatch } = await import('../chain/gas-watch.ts');
  const { readPaymentSettings } = await import('../chain/payment-settings.ts');
  const watches: GasReader[] = [];
  problemOf(() => void watches.push(new GasWatch(readPaymentSettings(payments), readSecretFile, Date.now)));
  for (const watch of watches) await watch.refresh();
  return watches.flatMap(({ readings }) => readings.flatMap(({ warning }) => warning ?? []));
}

async function nodeFindingsOf(values: SettingValues, isThere: boolean): Promise<string[]> {
  const { home } = values;
  if (home === undefined) return [];
  return await (await import('./node-checkup.ts')).nodeFindings(home, values, isThere);
}

async function publicationFindingsOf(data: string): Promise<string[]> {
  const found: Unpublished[] = [];
  // Problems with the file have a check of their own.
  problemOf(() => {
    using database = Database.openToRead(join(data, RECORDINGS.name), RECORDINGS);
    found.push(...database.read(() => unpublished(database)));
  });
  const [waiting] = found;
  if (waiting === undefined || waiting.markets === 0) return [];
  return await (await import('./publication-checkup.ts')).publicationFindings(waiting);
}

/** Reports a Redis that cannot count. */
async function windowsFindings(values: SettingValues): Promise<string[]> {
  const findings: string[] = [];
  if (windowsProblems(values).length > 0) return findings;
  using _ = await openWindows(values, (_isAway, sentence) => findings.push(sentence));
  return findings;
}

/** Reports keys and an admin of `serve --demo` in a service that is public now: everybody who has seen its output has access. */
function demoFindings({ data, host, publicUrl, trustedProxies }: SettingValues, nowMs: InstantMs): string[] {
  const hasPublicUrl = publicUrl !== undefined && !isLoopback(new URL(publicUrl).hostname);
  const isPublic = !isLoopback(host) || hasPublicUrl || trustedProxies.length > 0;
  if (!isPublic) return [];
  return inAccounts(data, (database) => {
    const account = new Accounts(database).findByEmail(DEMO_EMAIL);
    if (account === undefined || account.disabledMs !== undefined) return [];
    // No key is checked, so any secret will do.
    const keys = new ApiKeys(database, KeySecret.random()).ofAccount(account.id);
    const valid = keys.filter(({ revokedMs, expiresMs = Infinity }) => revokedMs === undefined && nowMs < expiresMs);
    return [
      ...valid.map(
        ({ id }) => `${id}, a key of 'serve --demo', is valid in a public service: run 'bookreel key revoke ${id}'`,
      ),
      ...(account.role === 'admin'
        ? [
            `${DEMO_EMAIL}, of 'serve --demo', is an admin of a public service: run 'bookreel account disable ${DEMO_EMAIL}'`,
          ]
        : []),
    ];
  });
}

function inAccounts(directory: string, find: (database: Database) => string[]): string[] {
  return inDatabase(directory, ACCOUNTS, find);
}

function inRecordings(directory: string, find: (sealed: SealedFiles) => string[]): string[] {
  return inDatabase(directory, RECORDINGS, (database) => find(new SealedFiles(database, database.path)));
}

/** Returns no findings if the file is missing, or cannot be read, which `databaseFindings` reports. */
function inDatabase(directory: string, file: DatabaseFile, find: (database: Database) => string[]): string[] {
  let findings: string[] = [];
  problemOf(() => {
    using database = Database.openToRead(join(directory, file.name), file);
    findings = database.read(() => find(database));
  });
  return findings;
}
