import type { Transporter } from 'nodemailer';
import { parseEmailAddress } from '../domain/email-address.ts';
import { isLoopback } from '../domain/loopback.ts';
import { readSecretFile } from '../store/secret-file.ts';
import type { Mail } from './mail.ts';

const CONNECT_MS = 10_000;
const SILENCE_MS = 20_000;
/** A server that takes 0.8 s for an email sends 200 in 32 s. */
export const CONNECTIONS_MAX = 5;

export interface MailServerSettings {
  /** `smtp://user@host:587` (STARTTLS) or `smtps://user@host`, without a password. */
  readonly url: URL;
  /** An address in canonical spelling. */
  readonly sender: string;
  readonly passwordFile: string | undefined;
}

/** Sends mails through an SMTP server. Encrypts the connection, except to this machine. */
export class MailServer {
  readonly #sender: string;
  readonly #options;
  #transport: Promise<Transporter> | undefined;

  /** Throws 'invalid-parameter' when the password cannot be read. Connects with the first email. */
  constructor({ url, sender, passwordFile }: MailServerSettings) {
    const secure = url.protocol === 'smtps:';
    this.#sender = sender;
    const user = decodeURIComponent(url.username);
    this.#options = {
      pool: true,
      maxConnections: CONNECTIONS_MAX,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      ...(url.port === '' ? { port: secure ? 465 : 587 } : { port: Number(url.port) }),
      secure,
      requireTLS: !secure && !isLoopback(url.hostname),
      ...(passwordFile !== undefined && { auth: { user, pass: readSecretFile(passwordFile) } }),
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    } as const;
  }

  /**
   * Throws an error of nodemailer's, with `responseCode` if the server has replied. Sends nothing to an address of an account of an earlier
   * version that is not accepted any more: mail servers may read another destination in it.
   */
  async deliver({ to, subject, text, html }: Mail): Promise<void> {
    if (parseEmailAddress(to) === undefined) return;
    this.#transport ??= import('nodemailer').then(({ createTransport }) => createTransport(this.#options));
    const from = { name: 'bookreel', address: this.#sender };
    await (await this.#transport).sendMail({ from, to: { name: '', address: to }, subject, text, html });
  }

  async close(): Promise<void> {
    (await this.#transport)?.close();
  }
}
