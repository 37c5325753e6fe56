import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { keepRevoked, Revocations, revocationsOf } from '../account/revocations.ts';
import { addSettings, integerFrom } from '../config.ts';
import { countText } from '../domain/count-text.ts';
import { DomainError } from '../domain/errors.ts';
import { causeOf } from '../http/plugins/errors.ts';
import { Accounts } from '../store/accounts.ts';
import { endSignIns, openActivity } from '../store/activity.ts';
import { ApiKeys } from '../store/api-keys.ts';
import { type Backup, backUp, type CopyOptions } from '../store/backup.ts';
import { type BucketBackup, backUpToBucket, downloadBackup } from '../store/bucket-backups.ts';
import { Database } from '../store/database.ts';
import { explained } from '../store/database-errors.ts';
import { ACCOUNTS, ACTIVITY } from '../store/database-file.ts';
import { jsonOf } from '../store/json-of.ts';
import { backUpAndKeep, KEPT_MAX, type KeptBackup } from '../store/kept-backups.ts';
import { KeySecret } from '../store/key-secret.ts';
import { type LastBackup, recordBackup } from '../store/last-backup.ts';
import { discard } from '../store/on-disk.ts';
import { openRegistry } from '../store/registry.ts';
import { restore } from '../store/restore.ts';
import { ServeLock } from '../store/serve-lock.ts';
import { bucketAt } from './bucket-at.ts';
import { copyVerified } from './copy-check.ts';
import { EXIT, ExitWith, exitCodeFor } from './exit.ts';
import { repeated } from './export.ts';
import { programCommand } from './program-command.ts';
import { dayOf, restoreSelected, selectionOf } from './restore-markets.ts';
import { json, type Terminal } from './terminal.ts';

const READABLE = 'the key secret, the accounts and the recordings';
const NO_LIST =
  "keys and accounts that were revoked since the backup are accepted again, unless --revoked names the output of 'bookreel key revoked'";

export function backupCommand(terminal: Terminal): CommandUnknownOpts {
  return addSettings(programCommand('backup'), 'diskFloor', 'backupTo')
    .argument('[place]', 'directory, or s3://bucket/folder; without it --backup-to')
    .description('write a verified copy of the recordings, the accounts and the key secret')
    .option('--force', 'replace the directory if it is a backup')
    .addOption(
      new Option('--keep <count>', 'write a backup into the place, and keep this number of them')
        .argParser(integerFrom(1, KEPT_MAX))
        .conflicts('force'),
    )
    .addHelpText(
      'after',
      `
Each database is copied as of one instant, which the manifest has; a server and
imports may run meanwhile. The copy is verified, compressed with zstd, and read
once more; then it gets its name. The disk needs room for the databases twice.
It holds the key secret: keep it as safe as the data directory. Directories
named DIRECTORY.partial-… come from a backup that was killed, and can be
deleted. One killed with --force may leave the earlier backup as
DIRECTORY.replaced-….

With --keep the new backup is a directory in DIRECTORY, named by its time. It is
restored into a scratch directory there and verified once more; then the oldest
ones are deleted. The data directory records how it ended, for doctor and the
metrics.

A bucket of an S3-compatible storage gets only what it does not have yet; each
backup there is complete by itself. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_REGION and AWS_ENDPOINT_URL, or a file named by AWS_SHARED_CREDENTIALS_FILE,
say where it is. If the command is killed, run it again for the rest.

Examples:
  $ bookreel backup /mnt/backups/bookreel-monday
  $ bookreel backup /mnt/backups/bookreel --force --data /var/lib/bookreel
  $ bookreel backup /mnt/backups --keep 7
  $ bookreel backup s3://acme-backups/bookreel --keep 30`,
    )
    .action(async (place, _, command) => {
      const options = command.optsWithGlobals();
      const { data, keep, force = false, diskFloor: floor } = options;
      const target = place ?? options.backupTo;
      const bucket = isBucket(target) ? bucketAt(terminal, target, READABLE) : undefined;
      if (bucket !== undefined && force) throw new DomainError('invalid-parameter', FORCED_BUCKET);
      const work = async (check: CopyOptions['check']): Promise<BucketBackup> => {
        if (bucket !== undefined) return await backUpToBucket(data, bucket, terminal.clock, { keep, check, floor });
        if (keep !== undefined) return await backUpAndKeep(data, target, terminal.clock, { keep, check, floor });
        return { ...(await backUp(data, target, terminal.clock, { force, check, floor })), deleted: [] };
      };
      const backup = await recorded(terminal, data, () => copyVerified(terminal, data, work));
      terminal.out(options.json === true ? json(backup) : `${backup.directory}\n`);
      if (options.json === true) return;
      const { writtenBytes, warning } = backup;
      const isRestored = keep !== undefined && bucket === undefined;
      const checked = `${writtenBytes} bytes written, ${isRestored ? 'verified and restored' : 'verified'}`;
      const secret = backup.keySecretSha256 === null ? '' : '; it has the key secret';
      const deleted = backup.deleted.length === 0 ? '' : `; deleted ${backup.deleted.join(', ')}`;
      terminal.err(`${sizeOf(backup)}, ${checked}${secret}${deleted}\n`);
      if (warning !== undefined) terminal.err(`${warning}\n`);
    });
}

const FORCED_BUCKET = 'backups in a bucket are never replaced: leave out --force, and delete old ones with --keep';

function isBucket(place: string): boolean {
  return place.startsWith('s3://');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Records how a backup ends in the data directory. Wrong usage is not recorded. */
async function recorded<Made extends KeptBackup>(
  terminal: Terminal,
  data: string,
  work: () => Promise<Made>,
): Promise<Made> {
  const record = (change: LastBackup) => {
    try {
      if (existsSync(data)) explained(data, () => recordBackup(data, change));
    } catch (error) {
      terminal.err(`metrics and doctor do not know of this backup, because it was not recorded: ${causeOf(error)}\n`);
    }
  };
  try {
    const backup = await work();
    record({ succeededMs: terminal.clock(), directory: backup.directory });
    return backup;
  } catch (error) {
    const reason = error instanceof ExitWith ? 'the copy had problems, which bookreel verify shows' : messageOf(error);
    if (exitCodeFor(error) !== EXIT.usage) record({ failedMs: terminal.clock(), reason });
    throw error;
  }
}

export function restoreCommand(terminal: Terminal): CommandUnknownOpts {
  return programCommand('restore')
    .argument('<backup>', "what 'bookreel backup' wrote: a directory, or s3://bucket/folder")
    .description('replace the recordings, the accounts and the keys of the data directory with a backup')
    .option('--force', 'if there is an archive, rename its files to *.before-restore-N')
    .option('--revoked <file>', "output of 'bookreel key revoked': what the backup must refuse")
    .addOption(
      new Option('--market <name>', 'only this market, by conditionId or slug; may be repeated')
        .argParser(repeated)
        .conflicts(['day', 'revoked']),
    )
    .addOption(
      new Option('--day <date>', 'only the markets that began on this day, in UTC')
        .argParser(dayOf)
        .conflicts('revoked'),
    )
    .addHelpText(
      'after',
      `
The backup is compared with its manifest and verified before it is installed. If
the command is interrupted, the data directory has a complete archive or no
bookreel.db; run it again with --force. Directories named restore.partial-… in
the data directory come from a restore that was killed, and can be deleted.
While a server uses the data directory, the command fails with exit code 4.

With --market or --day these markets are added to the archive, with their
records, while a server may use it; nothing else changes. Markets that it has
stay as they are: with --force those of the backup replace them. It must be a
backup of this archive, made after all of it was last restored. If the command
is interrupted, each market is as before or restored: run it again.

Keys that were revoked or rotated since the backup, and accounts that were
disabled or deleted, stay refused, as do former admins, removed passkeys and
unlinked identities: all are taken from the archive that --force replaces, and
from --revoked. All sessions end, and sign-in links are void.

From a bucket the newest backup is restored, or the one named after the folder.
It is downloaded into the data directory first; if the command is killed, run it
again for the rest.

Examples:
  $ bookreel restore /mnt/backups/bookreel-monday --data /var/lib/bookreel
  $ bookreel restore /mnt/backups/bookreel-monday --force
  $ bookreel restore /mnt/backups/bookreel-monday --revoked revoked.json
  $ bookreel restore /mnt/backups/bookreel-monday --day 2026-04-16 --force
  $ bookreel restore s3://acme-backups/bookreel`,
    )
    .action(async (source, _, command) => {
      const { data, ...options } = command.optsWithGlobals();
      const selection = selectionOf(options);
      const given = options.revoked === undefined ? undefined : readRevocations(options.revoked);
      let refused: number | null = null;
      const download = isBucket(source) ? downloadOf(terminal, source, data) : undefined;
      if (selection !== undefined) {
        const work = () => restoreSelected(terminal, download ?? source, selection, { data, ...options });
        return await (download === undefined ? work() : download.during(work));
      }
      const work = () =>
        copyVerified(terminal, source, (check) =>
          restore(download?.whole ?? source, data, {
            force: options.force === true,
            links: download !== undefined,
            check: async (draft, isKnown) => {
              const lists = [replacedRevocations(data), given].filter((list) => list !== undefined);
              refused = refuseRevoked(terminal, draft, lists);
              await check(draft, download === undefined ? isKnown : () => false);
            },
          }),
        );
      const restored = await (download === undefined ? work() : download.during(work));
      const { keptAs } = restored;
      terminal.out(options.json === true ? json({ data, ...restored, refused }) : `${data}\n`);
      const notes = [
        refused === null ? NO_LIST : `refused since the backup: ${refused} keys, accounts and ways to sign in`,
        ...(keptAs.length === 0 ? [] : [`the previous archive is now ${keptAs.join(', ')}`]),
      ];
      if (options.json !== true) terminal.err(`${[`${sizeOf(restored)}, verified`, ...notes].join('; ')}\n`);
    });
}

/** The download of a backup from a bucket, next to the files that it becomes: its sealed markets are linked. */
function downloadOf(terminal: Terminal, address: string, data: string) {
  const [, folder = address, name] = /^(.*)\/(bookreel-[\d-]{10}T[\d.-]{12}Z)$/.exec(address) ?? [];
  const bucket = bucketAt(terminal, folder, READABLE);
  const directory = join(data, 'restore.download');
  let lock: ServeLock | undefined;
  const onWriting = () => {
    lock ??= ServeLock.take(data, 'download');
  };
  const write = async (options?: { readonly isPart: boolean }) =>
    await downloadBackup(bucket, name, directory, { ...options, onWriting });
  /** Deletes the download after the work, unless something was unavailable: then the next restore goes on with it. */
  const during = async <T>(work: () => Promise<T>): Promise<T> => {
    let isKept = false;
    try {
      return await work();
    } catch (error) {
      isKept = error instanceof DomainError && error.kind === 'unavailable' && error.cause === undefined;
      throw error;
    } finally {
      if (lock !== undefined && !isKept) discard(directory);
      lock?.release();
    }
  };
  const whole = async () => {
    await write();
    return directory;
  };
  return { directory, write, whole, during };
}

/** Throws 'unavailable' for a file that cannot be read, 'invalid-parameter' for one that `key revoked` did not write. */
function readRevocations(path: string): Revocations {
  const found = jsonOf(
    Revocations,
    explained(path, () => readFileSync(path)),
  );
  if (found !== undefined) return found;
  throw new DomainError(
    'invalid-parameter',
    `'${path}' is not the whole output of 'bookreel key revoked': write it again`,
  );
}

/** The revocations of the archive that is replaced; undefined if there is none. */
function replacedRevocations(data: string): Revocations | undefined {
  if (!existsSync(join(data, ACCOUNTS.name))) return undefined;
  try {
    using database = Database.open(data, ACCOUNTS, { create: false });
    // Its key secret may be lost.
    const secret = KeySecret.random();
    return revocationsOf({
      database,
      secret,
      apiKeys: new ApiKeys(database, secret),
      accounts: new Accounts(database),
    });
  } catch (error) {
    // Damage of the archive is why backups are restored.
    if (error instanceof DomainError) return undefined;
    throw error;
  }
}

/** Ends the sessions of a restored copy, and refuses what was revoked since. Returns the number of changes; null without a list. */
function refuseRevoked(
  { clock, operatingUser }: Terminal,
  draft: string,
  lists: readonly Revocations[],
): number | null {
  if (existsSync(join(draft, ACTIVITY.name))) {
    using activity = openActivity(draft);
    endSignIns(activity);
  }
  if (!existsSync(join(draft, ACCOUNTS.name)) || lists.length === 0) return null;
  using registry = openRegistry(draft, { create: false });
  const change = { registry, nowMs: clock(), operatingUser };
  return lists.reduce((sum, list) => sum + keepRevoked(change, list), 0);
}

function sizeOf({ files, sealed }: Pick<Backup, 'files' | 'sealed'>): string {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const markets = `${countText(sealed.files, 'sealed market')}, ${sealed.newFiles} new`;
  return `${bytes} bytes in ${countText(files.length, 'database')}${sealed.files === 0 ? '' : `, ${markets}`}`;
}
