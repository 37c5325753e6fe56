import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type * as X509 from '@peculiar/x509';
import { refuseShared } from '../store/data-directory.ts';
import { draftOf, writeNew } from '../store/on-disk.ts';
import { readPrivateFile } from '../store/secret-file.ts';
import type { CertificateFiles } from './certificate.ts';

/** The hosts whose paths a replay has. */
export const REPLAYED_HOSTS = [
  ...['clob', 'gamma-api', 'data-api', 'ws-subscriptions-clob', 'ws-live-data'].map((name) => `${name}.polymarket.com`),
  'polymarket.com',
  ...['stream', 'api', 'fstream', 'fapi'].map((name) => `${name}.binance.com`),
  ...['data-stream', 'data-api'].map((name) => `${name}.binance.vision`),
];
const HOSTS_LINE = `127.0.0.1 ${REPLAYED_HOSTS.join(' ')}\n`;

/** Clients refuse certificates that are valid for more than 398 days; a replay needs one for a while. */
const DAY_MS = 86_400_000;
const VALID_MS = 90 * DAY_MS;
/** A client's clock may be behind. */
const EARLIER_MS = 3_600_000;
const EC_P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** The files by which programs with fixed addresses connect to a replay on their machine. */
export interface TlsRecipe extends CertificateFiles {
  /** The certificate of the authority, which programs must trust. */
  readonly authorityPath: string;
  /** The line for /etc/hosts. */
  readonly hostsPath: string;
}

/**
 * Writes a recipe into a directory, unless it has one for these hosts that is valid for a day more: `ca.pem`, `replay.pem` with
 * `replay.key`, and `hosts`. The authority signs one certificate, and its key is then gone: nobody can make another one that these
 * programs would trust. Both have the extensions that strict clients demand (RFC 5280, 4.2.1: key usage, basic constraints, key
 * identifiers). Throws 'invalid-parameter' for a directory that others may write to.
 */
export async function tlsRecipe(directory: string, nowMs: number): Promise<TlsRecipe> {
  const pathOf = (name: string) => join(resolve(directory), name);
  const recipe: TlsRecipe = {
    ...{ authorityPath: pathOf('ca.pem'), hostsPath: pathOf('hosts') },
    ...{ certPath: pathOf('replay.pem'), keyPath: pathOf('replay.key') },
  };
  refuseShared(directory);
  if (isValid(recipe, nowMs)) return recipe;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { authority, certificate, key } = await signedCertificate(nowMs);
  replaceFile(recipe.keyPath, key);
  replaceFile(recipe.authorityPath, authority);
  replaceFile(recipe.hostsPath, HOSTS_LINE);
  replaceFile(recipe.certPath, certificate);
  return recipe;
}

/** Replaces a name, whatever it is: the file behind a link is not written. */
function replaceFile(path: string, text: string): void {
  const draft = draftOf(path);
  writeNew(draft, text);
  renameSync(draft, path);
}

/** Returns true if the files belong together, name these hosts, and are valid for a day more. */
function isValid({ authorityPath, certPath, keyPath, hostsPath }: TlsRecipe, nowMs: number): boolean {
  try {
    const [authority, certificate] = [authorityPath, certPath].map((path) => new X509Certificate(readFileSync(path)));
    return (
      Date.parse(certificate!.validTo) > nowMs + DAY_MS &&
      certificate!.checkIssued(authority!) &&
      certificate!.verify(authority!.publicKey) &&
      certificate!.checkPrivateKey(createPrivateKey(readPrivateFile(keyPath))) &&
      // An earlier version may have known fewer hosts.
      readFileSync(hostsPath, 'utf8') === HOSTS_LINE
    );
  } catch {
    // Missing or damaged: a new one replaces it.
    return false;
  }
}

/** A certificate for REPLAYED_HOSTS with its key and its authority's certificate, all in PEM. */
async function signedCertificate(nowMs: number) {
  // Loaded here: no other command needs it.
  const x509 = await import('@peculiar/x509');
  const dates = { notBefore: new Date(nowMs - EARLIER_MS), notAfter: new Date(nowMs + VALID_MS) };
  const [ofAuthority, ofReplay] = await Promise.all([newKeys(), newKeys()]);
  const name = 'CN=replays of this machine';
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...{ name, ...dates, keys: ofAuthority, signingAlgorithm: EC_P256 },
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(ofAuthority.publicKey),
    ],
  });
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ subject: 'CN=bookreel replay', issuer: name, ...dates, signingAlgorithm: EC_P256 },
    ...{ publicKey: ofReplay.publicKey, signingKey: ofAuthority.privateKey },
    extensions: await extensionsOfReplay(x509, ofAuthority.publicKey, ofReplay.publicKey),
  });
  const der = Buffer.from(await crypto.subtle.exportKey('pkcs8', ofReplay.privateKey));
  const lines = der.toString('base64').replace(/.{1,64}/g, '$&\n');
  return {
    authority: authority.toString('pem'),
    certificate: certificate.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${lines}-----END PRIVATE KEY-----\n`,
  };
}

async function extensionsOfReplay(x509: typeof X509, authority: CryptoKey, replay: CryptoKey) {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension([
      ...[...REPLAYED_HOSTS, 'localhost'].map((value) => ({ type: 'dns', value }) as const),
      { type: 'ip', value: '127.0.0.1' },
    ]),
    await x509.SubjectKeyIdentifierExtension.create(replay),
    await x509.AuthorityKeyIdentifierExtension.create(authority),
  ];
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(EC_P256, true, ['sign', 'verify']);
}
