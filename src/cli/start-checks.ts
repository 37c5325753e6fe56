import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SettingValues } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { DEFAULT_TIERS } from '../domain/tier.ts';
import { refuseShared } from '../store/data-directory.ts';
import { Database } from '../store/database.ts';
import { explained } from '../store/database-errors.ts';
import { ACCOUNTS } from '../store/database-file.ts';
import { refuseLost } from '../store/registry.ts';
import { readSecretFile } from '../store/secret-file.ts';
import { Tiers } from '../store/tiers.ts';
import { accountProblems } from './account-settings.ts';
import { refuseEarlyClock } from './build-time.ts';
import { certificateFiles, readCertificate } from './certificate.ts';
import { windowsProblems } from './common-windows.ts';
import { refuseEqualPorts } from './metrics-listener.ts';
import { readNodeSecret } from './nodes.ts';
import { unavailable } from './payments.ts';

/**
 * A sentence for everything that keeps `serve` with these settings from starting, as far as that shows without listening and
 * without a network, but for facilitators, which are asked for their networks. Reads files, and changes none.
 */
export async function startProblems(settings: SettingValues, nowMs: number): Promise<string[]> {
  return [
    ...(await fittingProblems(settings)),
    ...secretProblems(settings),
    ...certificateProblems(settings),
    ...directoryProblems(settings),
    ...problemOf(() => refuseEarlyClock(nowMs)),
  ];
}

/** Reports settings that do not fit together, or do not fit the tiers or the payments file. */
export async function fittingProblems(settings: SettingValues): Promise<string[]> {
  const { data, publicUrl, newAccountTier, payments } = settings;
  return [
    ...accountProblems(settings, publicUrl !== undefined),
    ...problemOf(() => refuseEqualPorts(settings)),
    ...windowsProblems(settings),
    ...(payments === undefined ? [] : await paymentProblems(payments)),
    // SQLite may create files, which would belong to this user.
    ...(directoryProblems(settings).length > 0 ? [] : problemOf(() => refuseUnknownTier(data, newAccountTier))),
  ];
}

/** Reports TLS files that are not a certificate and its key. */
export function certificateProblems(settings: SettingValues): string[] {
  return problemOf(() => {
    const files = certificateFiles(settings);
    if (files !== undefined) readCertificate(files);
  });
}

/** Reports files with secrets that cannot be read, or that others may read. */
export function secretProblems(settings: SettingValues): string[] {
  const { smtpPasswordFile, oidcProviders, keyFile, windowsPasswordFile, nodeSecretFile } = settings;
  const secretFiles = oidcProviders.map(({ secretFile }) => secretFile);
  const paths = [smtpPasswordFile, ...secretFiles, keyFile, windowsPasswordFile];
  return [
    ...paths.flatMap((path) => (path === undefined ? [] : problemOf(() => void readSecretFile(path)))),
    ...(nodeSecretFile === undefined ? [] : problemOf(() => void readNodeSecret(nodeSecretFile))),
  ];
}

/** Returns a sentence if others may write to the data directory or own it, or if this user may not read it. */
export function directoryProblems({ data }: SettingValues): string[] {
  return problemOf(() =>
    explained(data, () => {
      refuseShared(data);
      if (existsSync(data)) readdirSync(data);
    }),
  );
}

/** The message of the DomainError that `check` throws. */
export function problemOf(check: () => void): string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof DomainError) return [error.message];
    throw error;
  }
}

async function paymentProblems(path: string): Promise<string[]> {
  const [{ chainsOf }, { readPaymentSettings }] = await Promise.all([
    import('../chain/chains.ts'),
    import('../chain/payment-settings.ts'),
  ]);
  const check = async () => {
    const chains = chainsOf(readPaymentSettings(path), readSecretFile);
    // A server starts without those that do not answer.
    for (const chain of chains) await chain.checkSettler().catch(unavailable);
  };
  return await check().then(
    () => [],
    (error: unknown) =>
      problemOf(() => {
        throw error;
      }),
  );
}

/** Refuses an unknown tier as `openRegistry` does, without opening the database to write. */
function refuseUnknownTier(directory: string, tier: string): void {
  refuseLost(directory);
  const path = join(directory, ACCOUNTS.name);
  if (existsSync(path)) {
    using database = Database.openToRead(path, ACCOUNTS);
    database.read(() => new Tiers(database).offered(tier));
  } else if (!DEFAULT_TIERS.some(({ id }) => id === tier)) {
    const ids = DEFAULT_TIERS.map(({ id }) => id).join(', ');
    throw new DomainError('invalid-parameter', `there is no tier '${tier}': choose one of ${ids}`);
  }
}
