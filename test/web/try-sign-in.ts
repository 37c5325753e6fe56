import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRealProvider } from '../account/real-provider.ts';
import { catchMails } from '../account/smtp-catcher.ts';
import { freePort } from '../judges/free-port.ts';
import { EXECUTABLE } from '../support/executable.ts';

/** `make sign-in`: the service with a mail server that prints its emails and a provider that accepts every password, until Ctrl-C. */
async function main([data = 'bookreel-data', port = '8080']: readonly string[]): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'bookreel-sign-in-'));
  const secretFile = join(directory, 'secret');
  const url = `http://127.0.0.1:${port}`;
  writeFileSync(secretFile, 'try-sign-in\n', { mode: 0o600 });
  const print = (text: string) => process.stdout.write(`${text}\n`);
  await using smtp = await catchMails({}, (mail) =>
    print(`mail to ${mail.to}: ${url}/sign-in/link?token=${mail.link} or the code ${mail.code}`),
  );
  const redirectUri = `${url}/sign-in/oidc/local/callback`;
  await using provider = await startRealProvider(await freePort(), 'try-sign-in', redirectUri);
  print(`open ${url}/sign-in: mails are printed here; at the provider 'local' type any address, and any password`);
  const server = Bun.spawn(
    [
      ...[EXECUTABLE, 'serve', '--demo', '--data', data, '--port', port, '--public-url', url, '--sign-up', 'open'],
      ...['--smtp-url', smtp.url.href, '--smtp-sender', 'bookreel@localhost'],
      ...['--oidc-providers', `local ${provider.issuer} bookreel ${secretFile}`],
    ],
    { stdin: 'ignore', stdout: 'inherit', stderr: 'inherit' },
  );
  // The terminal sends Ctrl-C to the server too.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => server.kill('SIGTERM'));
  const code = await server.exited;
  rmSync(directory, { recursive: true });
  return code;
}

process.exit(await main(process.argv.slice(2)));
