import { InvalidArgumentError, Option } from 'commander';
import { isCoin } from './domain/coin.ts';
import { GRANTS, REQUESTS_PER_MINUTE_MAX } from './domain/tier.ts';

/**
 * Every setting: its flag, its environment variable, its default. Flags win over the environment, the environment over
 * defaults. The README's table of settings is held against this list by a test.
 */
export const SETTINGS = {
  data: { flag: '--data <dir>', env: 'BOOKREEL_DATA', fallback: 'bookreel-data', about: 'data directory' },
  host: { flag: '--host <address>', env: 'BOOKREEL_HOST', fallback: '127.0.0.1', about: 'address to listen on' },
  port: {
    flag: '--port <number>',
    env: 'BOOKREEL_PORT',
    fallback: 8080,
    about: 'port to listen on; 0 takes a free one',
  },
} as const;

export function dataOption(): Option {
  const { flag, about, env, fallback } = SETTINGS.data;
  return new Option(flag, about).env(env).default(fallback).argParser(notEmpty);
}

export function hostOption(): Option {
  const { flag, about, env, fallback } = SETTINGS.host;
  return new Option(flag, about).env(env).default(fallback).argParser(notEmpty);
}

export function portOption(): Option {
  const { flag, about, env, fallback } = SETTINGS.port;
  return new Option(flag, about)
    .env(env)
    .default(fallback)
    .argParser((text) => integer(text, 0, 65_535));
}

export function requestsPerMinute(text: string): number {
  return integer(text, 1, REQUESTS_PER_MINUTE_MAX);
}

/** A price in USD a month with at most two decimals. */
export function monthlyPrice(text: string): number {
  if (!/^(?:0|[1-9]\d{0,8})(?:\.\d{1,2})?$/.test(text)) {
    throw new InvalidArgumentError('It must be an amount in USD with at most two decimals, like 49 or 49.50.');
  }
  return Number(text);
}

/** A comma-separated list of coin codes, or undefined for `all`. */
export function coinList(text: string): readonly string[] | undefined {
  return listOrAll(text, isCoin, 'coin codes like btc,eth, or all');
}

/** A comma-separated list of route names, or undefined for `all`. */
export function routeList(text: string): readonly string[] | undefined {
  return listOrAll(
    text,
    (name) => GRANTS.some((grant) => grant === name),
    `route names (${GRANTS.join(', ')}), or all`,
  );
}

function listOrAll(text: string, accepts: (item: string) => boolean, wanted: string): readonly string[] | undefined {
  const canonical = text.toLowerCase();
  if (canonical === 'all') return undefined;
  const items = canonical.split(',').map((item) => item.trim());
  if (!items.every(accepts)) throw new InvalidArgumentError(`It must be a comma-separated list of ${wanted}.`);
  return [...new Set(items)];
}

/** What is empty is a mistake in a script or a unit file: as a host it would mean every address of the machine. */
function notEmpty(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

function integer(text: string, min: number, max: number): number {
  const value = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new InvalidArgumentError(`It must be an integer from ${min} to ${max}.`);
  return value;
}
