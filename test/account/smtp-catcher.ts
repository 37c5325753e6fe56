import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

interface CaughtMail {
  readonly from: string;
  readonly to: readonly string[];
  /** As it was transferred: headers and body. */
  readonly raw: string;
  readonly link: string;
  readonly code: string;
}

/** A mail server on a free port of this machine that keeps all emails. */
export interface SmtpCatcher extends AsyncDisposable {
  readonly url: URL;
  readonly mails: readonly CaughtMail[];
  /** The email with this index, as soon as it has arrived. */
  nth(index: number): Promise<CaughtMail>;
}

/** `onMail` is called with each email. */
export async function catchMails(
  options: SMTPServerOptions = {},
  onMail: (mail: CaughtMail) => void = () => undefined,
): Promise<SmtpCatcher> {
  const mails: CaughtMail[] = [];
  const arrivals: PromiseWithResolvers<CaughtMail>[] = [];
  const arrivalOf = (index: number) => (arrivals[index] ??= Promise.withResolvers());
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    // Clients keep their connections open.
    closeTimeout: 50,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const raw = Buffer.concat(chunks).toString();
        const { mailFrom, rcptTo } = session.envelope;
        const text = plainText(raw);
        const mail = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          raw,
          link: /token=([\w-]+)/.exec(text)?.[1] ?? '',
          code: (/^(\d{4} \d{4})$/m.exec(text)?.[1] ?? '').replace(' ', ''),
        };
        arrivalOf(mails.length).resolve(mail);
        mails.push(mail);
        onMail(mail);
        done();
      });
    },
    ...options,
  });
  // A client that closes its connection early is no failure of the test.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: new URL(`smtp://127.0.0.1:${port}`),
    mails,
    nth: (index) => arrivalOf(index).promise,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** The first part of the email, which is text; quoted-printable or not. */
function plainText(raw: string): string {
  const body = raw.split(/Content-Type: text\/plain[\s\S]*?\r\n\r\n/)[1] ?? '';
  // Not at any `--`: a random link that is broken into lines may have one at the start of a line.
  const [part = ''] = body.split(`\r\n--${/boundary="([^"]+)"/.exec(raw)?.[1]}`);
  return part
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\r\n/g, '\n');
}
