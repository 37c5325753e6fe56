import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { isLoopback } from '../domain/loopback.ts';
import type { IpNetwork } from '../http/plugins/ip-address.ts';
import type { Log } from '../http/plugins/log.ts';
import { type Certificate, type CertificateFiles, dateWarning, readCertificate } from './certificate.ts';
import type { Listener } from './listening.ts';
import type { Terminal } from './terminal.ts';

/** The certificate that a service presents, and its files. */
export class ServedCertificate {
  readonly #files: CertificateFiles;
  readonly #clock: () => number;
  #current: Certificate;

  /** Throws 'invalid-parameter' for files that are not a certificate and its key. */
  constructor(files: CertificateFiles, { clock }: Pick<Terminal, 'clock'>) {
    this.#files = files;
    this.#clock = clock;
    this.#current = readCertificate(files);
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Warns of a certificate that clients refuse. */
  checkDates(log: Log): void {
    const warning = dateWarning(this.#current, this.#clock());
    if (warning !== undefined) log.warn(warning);
  }

  /**
   * Reads the files again, and presents their certificate from then on. The log says so, or why the earlier one stays. `listener`:
   * undefined if the service does not listen yet.
   */
  renew(listener: Listener | undefined, log: Log): void {
    try {
      const certificate = readCertificate(this.#files);
      listener?.renew(certificate);
      this.#current = certificate;
      log.info(`new connections get the certificate that expires at ${formatInstant(certificate.expiresMs)}`);
      this.checkDates(log);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      log.error(`the certificate was not replaced: ${error.message}`);
    }
  }
}

/** Reads the certificate again with each SIGHUP, until `Symbol.dispose`. */
export function renewOnHangup(
  served: ServedCertificate | undefined,
  listener: () => Listener | undefined,
  { errIsTerminal }: Terminal,
  log: Log,
): Disposable {
  // A terminal that is closed ends what runs on it. Elsewhere the signal comes from a service manager.
  if (served === undefined && errIsTerminal) return { [Symbol.dispose]: () => undefined };
  const onHangup = () => {
    if (served === undefined) log.info('SIGHUP: there is no certificate to read again');
    else served.renew(listener(), log);
  };
  process.on('SIGHUP', onHangup);
  return { [Symbol.dispose]: () => void process.off('SIGHUP', onHangup) };
}

/** Warns if keys cross the network in plain text. */
export function warnOfPlainText(
  log: Log,
  host: string,
  served: ServedCertificate | undefined,
  trustedProxies: readonly IpNetwork[] = [],
): void {
  if (isLoopback(host) || served !== undefined || trustedProxies.length > 0) return;
  log.warn(
    `other machines may connect to ${host} in plain text: name a certificate with --tls-cert and --tls-key, or put a TLS proxy in front of it ('bookreel manual public')`,
  );
}
