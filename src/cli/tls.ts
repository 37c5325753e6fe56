import { DomainError } from '../domain/errors.ts';
import { formatInstant } from '../domain/instant.ts';
import { isLoopback } from '../domain/loopback.ts';
import type { IpNetwork } from '../http/plugins/ip-address.ts';
import type { Log } from '../http/plugins/log.ts';
import {
  type Certificate,
  type CertificateFiles,
  certificateFault,
  certificateWarning,
  readCertificate,
} from './certificate.ts';
import type { Listener } from './listening.ts';
import type { Terminal } from './terminal.ts';

/** The certificate that a service presents, and its files. */
export class ServedCertificate {
  readonly #files: CertificateFiles;
  readonly #clock: () => number;
  readonly #host: string | undefined;
  #current: Certificate;

  /** `host`: see `certificateFault`. Throws 'invalid-parameter' for files that are not a certificate and its key. */
  constructor(files: CertificateFiles, { clock }: Pick<Terminal, 'clock'>, host?: string) {
    this.#files = files;
    this.#clock = clock;
    this.#host = host;
    this.#current = readCertificate(files);
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Warns of a certificate that clients refuse, or will soon. */
  check(log: Log): void {
    const warning = certificateWarning(this.#current, this.#clock(), this.#host);
    if (warning !== undefined) log.warn(warning);
  }

  /**
   * Reads the files again, and presents their certificate from then on, unless clients would refuse it and accept the earlier one.
   * The log says so, or why the earlier one stays. `listener`: undefined if the service does not listen yet.
   */
  renew(listener: Pick<Listener, 'renew'> | undefined, log: Log): void {
    try {
      const certificate = readCertificate(this.#files);
      const [fault, present] = [certificate, this.#current].map((one) =>
        certificateFault(one, this.#clock(), this.#host),
      );
      if (fault !== undefined && present === undefined) {
        log.error(`the certificate was not replaced, and the earlier one stays: ${fault}`);
        return;
      }
      listener?.renew(certificate);
      this.#current = certificate;
      log.info(`new connections get the certificate that expires at ${formatInstant(certificate.expiresMs)}`);
      this.check(log);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      log.error(`the certificate was not replaced: ${error.message}`);
    }
  }
}

/**
 * Reads the certificate again with each SIGHUP, until `Symbol.dispose`. `listener`: undefined if the service does not listen yet; one with
 * `replace` begins again in new processes, which read all settings again.
 */
export function renewOnHangup(
  served: ServedCertificate | undefined,
  listener: () => (Pick<Listener, 'renew'> & { readonly replace?: () => void }) | undefined,
  { errIsTerminal }: Terminal,
  log: Log,
): Disposable {
  // A terminal that is closed ends what runs on it. Elsewhere the signal comes from a service manager.
  if (served === undefined && errIsTerminal) return { [Symbol.dispose]: () => undefined };
  const onHangup = () => {
    const found = listener();
    if (served !== undefined) served.renew(found, log);
    else if (found?.replace !== undefined) found.replace();
    else log.info('SIGHUP: there is no certificate to read again');
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
