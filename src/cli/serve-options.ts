import { addSettings } from '../config.ts';
import { type OptionsOf, programCommand } from './program-command.ts';

export type ServeOptions = OptionsOf<typeof serveOptions>;

/** `bookreel serve` with its options and help. */
export function serveOptions() {
  return addSettings(
    programCommand('serve').description('serve the archive over HTTP; a missing data directory is created'),
    ...([
      'diskFloor',
      'books',
      'host',
      'port',
      'processes',
      'windows',
      'windowsPasswordFile',
      'tlsCert',
      'tlsKey',
      'accessLog',
      'logLevel',
      'metricsHost',
      'metricsPort',
    ] as const),
    ...(['trustedProxies', 'corsOrigins', 'allowedHosts', 'contact'] as const),
    ...([
      'mcp',
      'newAccountTier',
      'keysPerAccount',
      'publicUrl',
      'signUp',
      'signUpDomains',
      'smtpUrl',
      'smtpSender',
    ] as const),
    ...(['smtpPasswordFile', 'oidcProviders', 'adminPasskeys', 'payments', 'idleSeconds', 'drainSeconds'] as const),
    ...(['nodeSecretFile', 'home', 'cacheBytes', 'homeGrace'] as const),
  )
    .option(
      '--demo',
      'load the simulated recordings first, and print a curl command with a new key; on this machine also a sign-in link',
    )
    .option('--node', "answer from a copy of home's catalog ('bookreel manual nodes')")
    .addHelpText(
      'after',
      `
SIGTERM or SIGINT: the server answers the requests under way, then stops. A
second signal stops it at once. SIGHUP: it reads the files of --tls-cert and
--tls-key again; with several processes also other settings. All other commands
work while it is running.

Clients on other machines need TLS, here or at a proxy: see 'bookreel manual
public'. 'bookreel manual operations' is about the log and metrics.

Examples:
  $ bookreel serve --demo
  $ bookreel serve --data /var/lib/bookreel --trusted-proxies loopback
  $ bookreel serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem`,
    );
}
