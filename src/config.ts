import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import type { ProviderSettings } from './account/account-service.ts';
import { SIGN_UP_POLICIES } from './account/sign-up.ts';
import { parseCoin } from './domain/coin.ts';
import { parseDuration } from './domain/duration.ts';
import { isDomain, parseEmailAddress } from './domain/email-address.ts';
import { type InstantMs, isInstant, parseInstant, wantedInstant } from './domain/instant.ts';
import { INTERVAL_FORM, parseInterval } from './domain/interval.ts';
import { isLoopback } from './domain/loopback.ts';
import { LEVELS_MAX } from './domain/orderbook.ts';
import { OUTCOMES, type Outcome, parseOutcome } from './domain/outcome.ts';
import { GRANTS, REQUESTS_PER_MINUTE_MAX } from './domain/tier.ts';
import { type IpNetwork, parseIpNetwork } from './http/plugins/ip-address.ts';
import { LOG_LEVELS } from './http/plugins/log.ts';
import { SPEED_MAX, SPEED_MIN } from './replay/replay-clock.ts';
import type { DiskFloor } from './store/disk-floor.ts';
import { DELAY_MS_MAX } from './trading/paper-rules.ts';

/** One entry of the table. */
export interface Setting {
  readonly flag: string;
  /** How the configuration file has it: by default a text; `boolean` is on or off; a `list` is an array of texts, or one text. */
  readonly type?: 'number' | 'boolean' | 'list';
  /** The word that a number may also be. */
  readonly word?: string;
  /** As a user would type it. */
  readonly fallback: string;
  /** A value for messages, if the default is none. */
  readonly example?: string;
  readonly about: string;
  /** Throws InvalidArgumentError. */
  readonly read: (text: string) => unknown;
}

/** The names of all environment variables of this program begin with it. */
export const VARIABLE_PREFIX = 'BOOKREEL_';

const PORT = {
  flag: '--port <number>',
  type: 'number',
  about: 'port to listen on; 0 chooses a free one',
  read: integerFrom(0, 65_535),
} as const;
/** The number of a database, and how long requests wait for its Redis. */
const REDIS_PATH = /^\/?\d{0,5}(?:\?wait=[1-9]\d{1,3}ms)?$/;
/** Part of paths. */
const PROVIDER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
/** Sessions name the way of the sign-in: these are not at a provider. */
const OTHER_METHODS = ['email', 'command', 'passkey', 'recovery-code'];
/** The HTTP parser's timer allows no more. */
const IDLE_SECONDS_MAX = 255;

/**
 * Every setting: its flag and its default; its name gives its variable and its key in the file. Flags win over the environment, the environment over the
 * configuration file, the file over defaults. A setting is added by an entry here, and by its name at the commands that use it;
 * tests compare the table in the manual with this list, and try every entry in all four places.
 */
export const SETTINGS = {
  /** A path; undefined: there is no file. A file cannot name another one. */
  config: {
    flag: '--config <file>',
    fallback: 'none',
    about: 'TOML file with settings',
    read: (text) => unless('none', text, notEmpty),
  },
  data: {
    flag: '--data <dir>',
    fallback: 'bookreel-data',
    about: 'data directory',
    read: notEmpty,
  },
  diskFloor: {
    flag: '--disk-floor <size>',
    fallback: '64MB',
    about: 'free space that imports, backups and the recorder leave on the disk of the data directory; 0: none',
    read: diskSize,
  },
  /** A path, or the address of a bucket. */
  backupTo: {
    flag: '--backup-to <place>',
    fallback: '/var/backups/bookreel',
    about: 'place of backups that name none: a directory, or s3://bucket/folder',
    read: notEmpty,
  },
  /** Undefined: nothing is published. */
  books: {
    flag: '--books <bucket>',
    fallback: 'none',
    example: 's3://acme-books/live',
    about: 'bucket with sealed markets and the catalog, for nodes: s3://bucket/folder',
    read: (text) => unless('none', text, notEmpty),
  },
  host: {
    flag: '--host <address>',
    fallback: '127.0.0.1',
    about: 'address to listen on',
    read: notEmpty,
  },
  port: { ...PORT, fallback: '8080' },
  /** A number, or 'auto'. */
  processes: {
    flag: '--processes <number>',
    type: 'number',
    word: 'auto',
    fallback: '1',
    about: 'processes that answer requests; auto: one for each core that this service may use',
    read: (text) => (text === 'auto' ? text : integerFrom(1, 256)(text)),
  },
  /** A URL; undefined: each server counts limits alone. */
  windows: {
    flag: '--windows <url>',
    fallback: 'none',
    about: 'Redis or Valkey in which all servers of a service count limits, like redis://10.0.0.5:6379/0 or rediss://…',
    read: (text) => unless('none', text, redisDatabase),
  },
  /** A path; undefined: no password. */
  windowsPasswordFile: {
    flag: '--windows-password-file <file>',
    fallback: 'none',
    about: 'file with the password of --windows',
    read: (text) => unless('none', text, notEmpty),
  },
  accessLog: {
    flag: '--access-log <state>',
    type: 'boolean',
    fallback: 'off',
    about: 'on or off: write a line per request to stderr, as text on a terminal, else as JSON',
    read: (text) => oneOf(['on', 'off'])(text) === 'on',
  },
  logLevel: {
    flag: '--log-level <level>',
    fallback: 'info',
    about: 'least important messages to write to stderr: error, warn or info',
    read: oneOf(LOG_LEVELS),
  },
  /** A path; undefined: plain HTTP. */
  tlsCert: {
    flag: '--tls-cert <file>',
    fallback: 'none',
    about: 'PEM file with the certificate and its chain; turns TLS on. SIGHUP reads it again',
    read: (text) => unless('none', text, notEmpty),
  },
  /** A path. */
  tlsKey: {
    flag: '--tls-key <file>',
    fallback: 'none',
    about: 'PEM file with the private key of --tls-cert',
    read: (text) => unless('none', text, notEmpty),
  },
  metricsHost: {
    flag: '--metrics-host <address>',
    fallback: '127.0.0.1',
    about: 'address to listen on for scrapes of /metrics',
    read: notEmpty,
  },
  /** Undefined: no metrics. */
  metricsPort: {
    flag: '--metrics-port <number>',
    type: 'number',
    example: '9464',
    fallback: 'none',
    about: 'port for scrapes of /metrics by Prometheus, like 9464; 0 chooses a free one',
    read: (text) => unless('none', text, integerFrom(0, 65_535)),
  },
  /** A list of networks. */
  trustedProxies: {
    flag: '--trusted-proxies <list>',
    type: 'list',
    fallback: 'none',
    about: 'proxies whose X-Forwarded-For is trusted: addresses, networks (10.0.0.0/8), loopback',
    read: (text) => unless('none', text, (list) => itemsOf(list).flatMap(networks)) ?? [],
  },
  /** A list of origins, or `*`; undefined: none. */
  corsOrigins: {
    flag: '--cors-origins <list>',
    type: 'list',
    fallback: 'none',
    about: 'origins (https://app.example) whose scripts may read responses, or *',
    read: (text) => unless('none', text, (list) => (list === '*' ? list : itemsOf(list).map(origin))),
  },
  /** A set of host names in lower case; undefined: any. */
  allowedHosts: {
    flag: '--allowed-hosts <list>',
    type: 'list',
    fallback: 'any',
    about: 'host names that requests may use, without port',
    read: (text) => unless('any', text, (list) => new Set(itemsOf(list).map(hostName))),
  },
  idleSeconds: {
    flag: '--idle-seconds <number>',
    type: 'number',
    fallback: '30',
    about: 'seconds until an idle connection is closed',
    read: integerFrom(1, IDLE_SECONDS_MAX),
  },
  drainSeconds: {
    flag: '--drain-seconds <number>',
    type: 'number',
    fallback: '10',
    about: 'seconds to finish requests after a stop signal',
    read: integerFrom(0, 3600),
  },
  mcp: {
    flag: '--mcp <state>',
    type: 'boolean',
    fallback: 'off',
    about: 'on or off: tools for agents at /mcp, with the same keys as /v1',
    read: (text) => oneOf(['on', 'off'])(text) === 'on',
  },
  newAccountTier: {
    flag: '--new-account-tier <id>',
    fallback: 'free',
    about: 'tier of accounts without a grant',
    read: notEmpty,
  },
  keysPerAccount: {
    flag: '--keys-per-account <number>',
    type: 'number',
    fallback: '10',
    about: 'maximum number of valid keys of an account',
    read: integerFrom(1, 1_000_000),
  },
  /** An origin; undefined: accounts are off. */
  publicUrl: {
    flag: '--public-url <url>',
    fallback: 'none',
    about: 'address of the service in browsers; turns accounts and sign-in on',
    read: (text) => unless('none', text, publicOrigin),
  },
  signUp: {
    flag: '--sign-up <policy>',
    fallback: 'closed',
    about:
      'addresses that get an account at their first sign-in: open (all), invited (of --sign-up-domains), closed (none)',
    read: oneOf(SIGN_UP_POLICIES),
  },
  /** A set of domains in lower case. */
  signUpDomains: {
    flag: '--sign-up-domains <list>',
    type: 'list',
    fallback: 'none',
    about: 'email domains of --sign-up invited, without their subdomains',
    read: (text) => new Set(unless('none', text, (list) => itemsOf(list).map(emailDomain)) ?? []),
  },
  /** A URL; undefined: the service sends no email. */
  smtpUrl: {
    flag: '--smtp-url <url>',
    fallback: 'none',
    about: 'mail server for sign-in by email, like smtp://user@mail.example.com:587 or smtps://mail.example.com',
    read: (text) => unless('none', text, smtpServer),
  },
  smtpSender: {
    flag: '--smtp-sender <address>',
    fallback: 'none',
    about: 'address that the emails are from',
    read: (text) => unless('none', text, address),
  },
  /** A path; undefined: no password. */
  smtpPasswordFile: {
    flag: '--smtp-password-file <file>',
    fallback: 'none',
    about: 'file with the password of the user in --smtp-url',
    read: (text) => unless('none', text, notEmpty),
  },
  oidcProviders: {
    flag: '--oidc-providers <list>',
    type: 'list',
    fallback: 'none',
    about: 'OpenID providers to sign in at, each as: name issuer client-id secret-file',
    read: (text) => unless('none', text, (list) => itemsOf(list).map(oidcProvider)) ?? [],
  },
  /** A path; undefined: there are no nodes. */
  nodeSecretFile: {
    flag: '--node-secret-file <file>',
    fallback: 'none',
    about: 'file with the secret that home and its nodes share',
    read: (text) => unless('none', text, notEmpty),
  },
  /** An origin; undefined: this is no node. */
  home: {
    flag: '--home <url>',
    fallback: 'none',
    about: 'address of home, for a node: http://10.0.0.10:8080',
    read: (text) => unless('none', text, origin),
  },
  cacheBytes: {
    flag: '--cache-bytes <size>',
    fallback: '10GB',
    about: 'disk space of a node for sealed markets; those used last stay',
    read: diskSize,
  },
  /** Milliseconds. */
  homeGrace: {
    flag: '--home-grace <time>',
    fallback: '30s',
    about: 'how long a node accepts the keys that it knows while it cannot reach home',
    read: delay,
  },
  adminPasskeys: {
    flag: '--admin-passkeys <rule>',
    fallback: 'optional',
    about: 'optional or required: admins open their pages only after a sign-in with a passkey',
    read: oneOf(['optional', 'required'] as const),
  },
  /** A URL of mailto: or https:; undefined: the pages have no contact. */
  contact: {
    flag: '--contact <url>',
    fallback: 'none',
    about: 'where people ask for a price on request: mailto:sales@example.com or an https address',
    read: (text) => unless('none', text, contactUrl),
  },
  /** A path; undefined: payments are off. */
  payments: {
    flag: '--payments <file>',
    fallback: 'none',
    about: 'JSON file with the networks and tokens that pay for tiers; turns payments on',
    read: (text) => unless('none', text, notEmpty),
  },
  replayPort: { ...PORT, fallback: '8000' },
  maxSockets: {
    flag: '--max-sockets <number>',
    type: 'number',
    fallback: '256',
    about: 'maximum number of open WebSockets',
    read: integerFrom(1, 1_000_000),
  },
  replayUrl: {
    flag: '--url <url>',
    fallback: 'http://127.0.0.1:8000',
    about: 'address of the bookreel replay process',
    read: baseUrl,
  },
  /** A path; undefined: there is no key. */
  keyFile: {
    flag: '--key-file <file>',
    fallback: 'none',
    about: 'file with the API key, if the process requires one',
    read: (text) => unless('none', text, notEmpty),
  },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;
/** Words with hyphens in camel case, as the parser names options. */
type CamelCase<Words extends string> = Words extends `${infer Word}-${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Words;
type OptionName<Flag extends string> = Flag extends `--${infer Words} ${string}` ? CamelCase<Words> : never;
/** The values of settings as options of a command, which are named by their flags: two commands have a --port. */
type SettingOptions<Name extends SettingName> = {
  readonly [Each in Name as OptionName<(typeof SETTINGS)[Each]['flag']>]: SettingValues[Each];
};

export type SettingValues = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['read']> };

/** All settings by their names, in the order of the table. Object.entries would forget the names. */
export const ALL_SETTINGS = Object.entries(SETTINGS) as [SettingName, Setting][];

/** The key of a setting in the configuration file: `replay-port` for `replayPort`. */
export function keyOf(name: SettingName): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Its environment variable: `BOOKREEL_REPLAY_PORT`. */
export function variableOf(name: SettingName): string {
  return `${VARIABLE_PREFIX}${keyOf(name).toUpperCase().replaceAll('-', '_')}`;
}

/** Adds the options of these settings. */
export function addSettings<
  Args extends unknown[],
  Own extends OptionValues,
  Global extends OptionValues,
  Name extends SettingName,
>(command: Command<Args, Own, Global>, ...names: readonly Name[]): Command<Args, Own & SettingOptions<Name>, Global> {
  for (const name of names) {
    const { flag, about, fallback, read } = SETTINGS[name];
    const value = read(fallback);
    const option = new Option(flag, about)
      .env(variableOf(name))
      .default(value, value === fallback ? undefined : fallback);
    command.addOption(option.argParser((text) => read(text)));
  }
  // The table of the settings has the types of the values, which the loop does not show.
  return command as Command<Args, Own & SettingOptions<Name>, Global>;
}

/** The value of a text; undefined for the word that means no value. */
function unless<T>(word: string, text: string, read: (text: string) => T): T | undefined {
  return text === word ? undefined : read(text);
}

const SIZE_UNITS: Readonly<Record<string, number>> = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

function diskSize(text: string): DiskFloor {
  const [, digits, unit] = /^([1-9]\d{0,3})([kMGT]B)$/.exec(text) ?? [];
  if (text === '0') return { text, bytes: 0 };
  if (digits !== undefined) return { text, bytes: Number(digits) * SIZE_UNITS[unit!]! };
  throw new InvalidArgumentError('It must be a size like 64MB or 2GB, or 0.');
}

/** A URL to append paths to, without a slash at its end. */
export function baseUrl(text: string): string {
  const parsed = URL.parse(text);
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.search === '' && parsed.hash === '') {
    return text.replace(/\/+$/, '');
  }
  throw new InvalidArgumentError('It must be a URL like http://127.0.0.1:8000.');
}

/** An address of the service without a path: __Host- cookies cover the whole host. */
function publicOrigin(text: string): string {
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || `${parsed.origin}` !== text.replace(/\/$/, '')) {
    throw new InvalidArgumentError('It must be an address without a path, like https://data.example.com.');
  }
  refusePlain(parsed);
  return parsed.origin;
}

/** A link for pages: it has no scheme that runs or shows something else. */
function contactUrl(text: string): string {
  const mail = text.startsWith('mailto:') ? parseEmailAddress(text.slice('mailto:'.length)) : undefined;
  if (mail !== undefined) return `mailto:${mail}`;
  const parsed = URL.parse(text);
  if (parsed?.protocol === 'https:' && parsed.username === '' && parsed.password === '') return parsed.href;
  throw new InvalidArgumentError('It must be like mailto:sales@example.com or https://example.com/contact.');
}

/** Throws for a URL of http on another machine. */
function refusePlain(url: URL): void {
  if (url.protocol !== 'http:' || isLoopback(url.hostname)) return;
  throw new InvalidArgumentError(
    'It must begin with https:// unless it is on this machine: anyone on the network could read sessions and secrets.',
  );
}

function oneOf<Name extends string>(names: readonly Name[]): (text: string) => Name {
  return (text) => {
    const chosen = names.find((name) => name === text);
    if (chosen !== undefined) return chosen;
    throw new InvalidArgumentError(`It must be ${names.slice(0, -1).join(', ')} or ${names.at(-1)}.`);
  };
}

function emailDomain(text: string): string {
  if (isDomain(text)) return text.toLowerCase();
  throw new InvalidArgumentError(`'${text}' is not the domain of email addresses, like example.com.`);
}

function address(text: string): string {
  const parsed = parseEmailAddress(text);
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError('It must be an email address like bookreel@example.com.');
}

function smtpServer(text: string): URL {
  const parsed = URL.parse(text);
  if (
    parsed === null ||
    !/^smtps?:$/.test(parsed.protocol) ||
    parsed.hostname === '' ||
    !/^\/?$/.test(parsed.pathname)
  ) {
    throw new InvalidArgumentError('It must be like smtp://user@mail.example.com:587 or smtps://mail.example.com.');
  }
  if (!isPercentEncoded(parsed.username)) {
    throw new InvalidArgumentError('The user in it is not percent-encoded: write %25 for %, and %40 for @.');
  }
  return parsed;
}

function redisDatabase(text: string): URL {
  const parsed = URL.parse(text);
  if (
    parsed !== null &&
    /^rediss?:$/.test(parsed.protocol) &&
    parsed.hostname !== '' &&
    REDIS_PATH.test(parsed.pathname + parsed.search)
  )
    return parsed;
  throw new InvalidArgumentError(
    'It must be like redis://10.0.0.5:6379/0, rediss://redis.example.com or redis://10.0.0.5/0?wait=100ms.',
  );
}

function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    // URIError.
    return false;
  }
}

function oidcProvider(text: string): ProviderSettings {
  const [name = '', issuer = '', clientId = '', secretFile = '', ...more] = text.split(/\s+/);
  const parsed = URL.parse(issuer);
  if (secretFile === '' || more.length > 0 || parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new InvalidArgumentError(
      `'${text}' is not a provider: write its name, issuer, client id and secret file, like: corp https://login.example.com bookreel /etc/bookreel/corp-secret.`,
    );
  }
  if (!PROVIDER_NAME.test(name) || OTHER_METHODS.includes(name)) {
    throw new InvalidArgumentError(
      `'${name}' is not a name of a provider: use 1 to 32 of a-z, 0-9 and -, except ${OTHER_METHODS.join(', ')}.`,
    );
  }
  refusePlain(parsed);
  return { name, issuer, clientId, secretFile };
}

function itemsOf(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

const LOOPBACK = ['127.0.0.0/8', '::1'];

/** `loopback` means the loopback networks of IPv4 and IPv6. */
function networks(text: string): IpNetwork[] {
  return (text === 'loopback' ? LOOPBACK : [text]).map((name) => {
    const network = parseIpNetwork(name);
    if (network !== undefined) return network;
    throw new InvalidArgumentError(
      `'${text}' is not an address, not a network like 10.0.0.0/8 or 2001:db8::/32 with only zeros after its prefix, and not loopback.`,
    );
  });
}

/** As browsers write it: scheme, host and a port that is not the scheme's own, in lower case. */
function origin(text: string): string {
  const parsed = URL.parse(text);
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.origin === text) return text;
  throw new InvalidArgumentError(`'${text}' is not an origin as browsers send it, like https://app.example:8443.`);
}

function hostName(text: string): string {
  if (/^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])$/.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError(`'${text}' is not a host name, an address or an [IPv6 address] without a port.`);
}

export const requestsPerMinute = integerFrom(1, REQUESTS_PER_MINUTE_MAX);
export const entryId = integerFrom(1, 9_999_999_999);
export const entryLimit = integerFrom(1, 10_000);
export const skipped = integerFrom(0, 999_999_999);
export const catalogPlace = integerFrom(1, 1000);
export const bookDepth = integerFrom(1, LEVELS_MAX);

/** An instant of the years 1970 to 9999. */
export function instant(text: string): InstantMs {
  const instantMs = parseInstant(text);
  if (instantMs !== undefined && isInstant(instantMs)) return instantMs;
  throw new InvalidArgumentError(`It must be ${wantedInstant(text)}.`);
}

/** A number in the range that the replay clock allows, or `max`. */
export function speed(text: string): number | 'max' {
  if (text === 'max') return text;
  if (/^\d{1,4}(?:\.\d{1,3})?$/.test(text) && Number(text) >= SPEED_MIN && Number(text) <= SPEED_MAX)
    return Number(text);
  throw new InvalidArgumentError(`It must be a number from ${SPEED_MIN} to ${SPEED_MAX}, or max.`);
}

/** Reads a duration of `minMs` at least. `refusal`: what it must be. */
export function durationFrom(minMs: number, refusal: string): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= minMs) return ms;
    throw new InvalidArgumentError(refusal);
  };
}

/** Milliseconds of a length like 40ms or 1s, or of 0. */
export function delay(text: string): number {
  const delayMs = text === '0' ? 0 : parseDuration(text);
  if (delayMs !== undefined && delayMs <= DELAY_MS_MAX) return delayMs;
  throw new InvalidArgumentError('It must be 0, or a time up to 1m with a unit, like 40ms or 1s.');
}

/** The same, or `venue`. */
export function takerDelay(text: string): 'venue' | number {
  return text === 'venue' ? text : delay(text);
}

/** Dollars, more than 0, with at most 6 decimals. */
export function dollars(text: string): number {
  if (/^\d{1,9}(?:\.\d{1,6})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('It must be dollars above 0 with at most 6 decimals, like 1000 or 0.5.');
}

/** Milliseconds of the interval of a sampled series. */
export function interval(text: string): number {
  const intervalMs = parseInterval(text);
  if (intervalMs === undefined) throw new InvalidArgumentError(`It must be ${INTERVAL_FORM}.`);
  return intervalMs;
}

/** Accepts any case. */
export function outcome(text: string): Outcome {
  const parsed = parseOutcome(text);
  if (parsed === undefined) throw new InvalidArgumentError(`It must be ${OUTCOMES.join(' or ')}.`);
  return parsed;
}

/** A price in USD per month with at most two decimals. */
export function monthlyPrice(text: string): number {
  if (!/^(?:0|[1-9]\d{0,8})(?:\.\d{1,2})?$/.test(text)) {
    throw new InvalidArgumentError('It must be an amount in USD with at most two decimals, like 49 or 49.50.');
  }
  return Number(text);
}

/** A comma-separated list of coin codes, or undefined for `all`. */
export function coinList(text: string): readonly string[] | undefined {
  return listOrAll(text, parseCoin, 'coin codes like btc,eth, or all');
}

/** A comma-separated list of route names, or undefined for `all`. */
export function routeList(text: string): readonly string[] | undefined {
  return listOrAll(
    text,
    (name) => GRANTS.find((grant) => grant === name),
    `route names (${GRANTS.join(', ')}), or all`,
  );
}

function listOrAll(
  text: string,
  read: (item: string) => string | undefined,
  wanted: string,
): readonly string[] | undefined {
  const canonical = text.toLowerCase();
  if (canonical === 'all') return undefined;
  const items = canonical.split(',').map((item) => read(item.trim()));
  if (!items.every((item) => item !== undefined)) {
    throw new InvalidArgumentError(`It must be a comma-separated list of ${wanted}.`);
  }
  return [...new Set(items)];
}

/** An empty value is a mistake in a script or a unit file: an empty host would mean every address of the machine. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

/** Reads integers of these bounds, both inclusive, of ten digits at most. */
export function integerFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
  };
}
