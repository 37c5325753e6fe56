import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { readPrivateFile } from '../store/secret-file.ts';

/** The settings of TLS as options of a command. */
export interface TlsOptions {
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
}

/** The paths of a certificate with its chain, and of its key, both in PEM. */
export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
}

/** A certificate that fits its key. */
export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly x509: X509Certificate;
  readonly validFromMs: number;
  readonly expiresMs: number;
}

const NEAR_END_MS = 14 * 86_400_000;

/** The files of TLS; undefined if it is off. Throws 'invalid-parameter' if one of the two settings is missing. */
export function certificateFiles({ tlsCert, tlsKey }: TlsOptions): CertificateFiles | undefined {
  if (tlsCert !== undefined && tlsKey !== undefined) return { certPath: tlsCert, keyPath: tlsKey };
  if (tlsCert === tlsKey) return undefined;
  throw new DomainError('invalid-parameter', '--tls-cert and --tls-key need each other: give both');
}

/** Reads both files. Throws 'invalid-parameter' if one of them cannot be read, is not PEM, or does not fit the other, and if others may read the key. */
export function readCertificate({ certPath, keyPath }: CertificateFiles): Certificate {
  const cert = read(certPath);
  const withoutKey = parsed(
    () => certificateOf(cert, ''),
    `'${certPath}' has no certificate in PEM: name the file that begins with -----BEGIN CERTIFICATE-----`,
  );
  const key = readPrivateFile(keyPath);
  if (!withoutKey.x509.checkPrivateKey(privateKey(key, keyPath))) {
    throw unusable(`'${keyPath}' is not the key of the first certificate in '${certPath}': name two files of one pair`);
  }
  return { ...withoutKey, key };
}

/** A certificate and its key, in PEM, that fit. Throws for what is not a certificate. */
export function certificateOf(cert: string, key: string): Certificate {
  const x509 = new X509Certificate(cert);
  return { cert, key, x509, validFromMs: Date.parse(x509.validFrom), expiresMs: Date.parse(x509.validTo) };
}

/** Why clients refuse the certificate at this time; undefined if they accept it. `host`: the name that they use, undefined if not known. */
export function certificateFault(
  certificate: Certificate,
  nowMs: number,
  host: string | undefined,
): string | undefined {
  const { validFromMs, expiresMs, x509 } = certificate;
  if (nowMs >= expiresMs) {
    return `the certificate of --tls-cert expired at ${formatInstant(expiresMs)}, and clients refuse it: renew it, then send SIGHUP`;
  }
  if (nowMs < validFromMs) {
    return `the certificate of --tls-cert is not valid before ${formatInstant(validFromMs)}, and clients refuse it: check the clock of this machine`;
  }
  const isFor = isIP(host ?? '') === 0 ? x509.checkHost : x509.checkIP;
  if (host === undefined || isFor.call(x509, host) !== undefined) return undefined;
  return `the certificate of --tls-cert is not for ${host}, the host of --public-url, and clients refuse it: get one with that name, then send SIGHUP`;
}

/** A fault, or the end of the certificate in less than two weeks, or than a third of its time. */
export function certificateWarning(
  certificate: Certificate,
  nowMs: number,
  host: string | undefined,
): string | undefined {
  const { validFromMs, expiresMs } = certificate;
  const fault = certificateFault(certificate, nowMs, host);
  if (fault !== undefined || expiresMs - nowMs >= Math.min(NEAR_END_MS, (expiresMs - validFromMs) / 3)) return fault;
  return `the certificate of --tls-cert expires at ${formatInstant(expiresMs)}: renew it, then send SIGHUP`;
}

/** The name that clients use, if nothing before this server has a certificate of its own. */
export function certifiedHost(
  publicUrl: string | undefined,
  trustedProxies: readonly unknown[] = [],
): string | undefined {
  if (publicUrl === undefined || trustedProxies.length > 0) return undefined;
  return new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
}

function privateKey(pem: string, path: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem)) {
    throw unusable(
      `'${path}' is encrypted: write the key without a passphrase into a file that only this user can read`,
    );
  }
  return parsed(
    () => createPrivateKey(pem),
    `'${path}' has no private key in PEM: name the file that begins with -----BEGIN PRIVATE KEY-----`,
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unusable(`'${path}' cannot be read: check its path and permissions`, error);
  }
}

function parsed<T>(parse: () => T, sentence: string): T {
  try {
    return parse();
  } catch (error) {
    throw unusable(sentence, error);
  }
}

function unusable(sentence: string, cause?: unknown): DomainError {
  return new DomainError('invalid-parameter', sentence, { cause });
}
