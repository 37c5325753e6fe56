import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
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
  readonly validFromMs: number;
  readonly expiresMs: number;
}

/** The files of TLS; undefined if it is off. Throws 'invalid-parameter' if one of the two settings is missing. */
export function certificateFiles({ tlsCert, tlsKey }: TlsOptions): CertificateFiles | undefined {
  if (tlsCert !== undefined && tlsKey !== undefined) return { certPath: tlsCert, keyPath: tlsKey };
  if (tlsCert === tlsKey) return undefined;
  throw new DomainError('invalid-parameter', '--tls-cert and --tls-key need each other: give both');
}

/** Reads both files. Throws 'invalid-parameter' if one of them cannot be read, is not PEM, or does not fit the other, and if others may read the key. */
export function readCertificate({ certPath, keyPath }: CertificateFiles): Certificate {
  const cert = read(certPath);
  const certificate = parsed(
    () => new X509Certificate(cert),
    `'${certPath}' has no certificate in PEM: name the file that begins with -----BEGIN CERTIFICATE-----`,
  );
  const key = readPrivateFile(keyPath);
  if (!certificate.checkPrivateKey(privateKey(key, keyPath))) {
    throw unusable(`'${keyPath}' is not the key of the first certificate in '${certPath}': name two files of one pair`);
  }
  return {
    cert,
    key,
    validFromMs: Date.parse(certificate.validFrom),
    expiresMs: Date.parse(certificate.validTo),
  };
}

/** Why clients refuse the certificate at this time; undefined if they accept its dates. */
export function dateWarning({ validFromMs, expiresMs }: Certificate, nowMs: number): string | undefined {
  if (nowMs >= expiresMs) {
    return `the certificate of --tls-cert expired at ${formatInstant(expiresMs)}, and clients refuse it: renew it, then send SIGHUP`;
  }
  if (nowMs >= validFromMs) return undefined;
  return `the certificate of --tls-cert is not valid before ${formatInstant(validFromMs)}, and clients refuse it: check the clock of this machine`;
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
