import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import { unreadable } from './source.ts';

/** Pauses before the next tries, in ms; each received byte starts them again. */
const PAUSES_MS = [250, 1000, 4000, 15_000];
/** A server that sends nothing for this long is asked again. */
const SILENCE_MS = 30_000;
const UNNAMED = 'download';

export interface DownloadOptions {
  /** Where the file goes, and what there is of it after an interruption. Created if it does not exist. */
  readonly directory: string;
  readonly signal?: AbortSignal;
  /** Called with the size that the server states, before the bytes are stored; what it throws ends the download. */
  readonly beforeBytes?: (bytes: number) => void;
  readonly onBytes?: (received: number) => void;
  /** For tests. */
  readonly pausesMs?: readonly number[];
  readonly silenceMs?: number;
}

/** What the server said of the version of which bytes are there. */
interface Version {
  readonly url: string;
  /** A strong entity tag, or the date of the last change. Undefined: the download cannot be continued. */
  readonly validator: string | undefined;
}

/** An answer that another try will not change. */
class Refused extends Error {}

export function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

/** A URL without credentials and query, which may be a signature: for reports and messages. */
export function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/**
 * Downloads a file, and returns its path, whose last part is that of the URL. A lost connection, and a download that an earlier process
 * began, are continued by a range (RFC 9110, section 14) if the server still has the same version; else it begins again. Throws
 * 'unreadable', in a sentence, for a URL that cannot be read.
 */
export async function downloaded(url: string, options: DownloadOptions): Promise<string> {
  if (!URL.canParse(url)) throw unreadable(`'${url.slice(0, 100)}' is not a URL: check its address`);
  const directory = join(options.directory, createHash('sha256').update(url).digest('hex').slice(0, 16));
  const path = join(directory, nameOf(url));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { pausesMs = PAUSES_MS, signal } = options;
  const part = { path: `${path}.part`, version: `${path}.version` };
  for (let tries = 0; ; tries += 1) {
    const before = sizeOf(part.path);
    try {
      await receive(url, part, options);
      renameSync(part.path, path);
      rmSync(part.version, { force: true });
      return path;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Refused) throw unreadable(`'${shownUrl(url)}' cannot be read: ${error.message}`, error);
      if (!isOfNetwork(error)) throw error;
      if (sizeOf(part.path) > before) tries = 0;
      const pauseMs = pausesMs[tries];
      if (pauseMs === undefined) {
        const reason = 'the connection was lost, or the server does not answer: run this again to continue';
        throw unreadable(`'${shownUrl(url)}' cannot be read: ${reason}`, error);
      }
      await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** The name under which a file of the URL is stored: mappings read it. */
function nameOf(url: string): string {
  const last = basename(new URL(url).pathname);
  try {
    return basename(decodeURIComponent(last)) || UNNAMED;
  } catch {
    return last;
  }
}

/** Receives the bytes that are missing. Throws Refused, errors of the network, and those of `beforeBytes`. */
async function receive(
  url: string,
  part: { readonly path: string; readonly version: string },
  { signal, beforeBytes, onBytes, silenceMs = SILENCE_MS }: DownloadOptions,
): Promise<void> {
  const validator = continuable(url, part);
  const have = validator === undefined ? 0 : sizeOf(part.path);
  using silence = silenceOf(silenceMs);
  const answer = await fetch(url, {
    headers: {
      'accept-encoding': 'identity',
      ...(have === 0 ? {} : { range: `bytes=${have}-`, 'if-range': validator! }),
    },
    signal: signal === undefined ? silence.signal : AbortSignal.any([silence.signal, signal]),
  });
  // All bytes were there, and the process ended before it renamed the file.
  if (answer.status === 416 && answer.headers.get('content-range') === `bytes */${have}`) return;
  if (answer.status === 416) rmSync(part.version);
  const start = startOf(answer, have);
  const stated = Number(answer.headers.get('content-length') ?? Number.NaN);
  if (answer.headers.has('content-encoding')) throw new Refused('the server sends it with a Content-Encoding');
  beforeBytes?.(Number.isNaN(stated) ? 0 : stated);
  const version: Version = { url, validator: validatorOf(answer) };
  if (start === 0) writeFileSync(part.version, JSON.stringify(version), { mode: 0o600 });
  await using file = await open(part.path, start === 0 ? 'w' : 'a', 0o600);
  let received = 0;
  for await (const chunk of answer.body ?? []) {
    silence.restart();
    await file.write(chunk);
    received += chunk.length;
    onBytes?.(start + received);
  }
  if (!Number.isNaN(stated) && received !== stated) throw new TypeError(`${received} of ${stated} bytes arrived`);
}

/** The position at which the bytes of an answer begin. Throws Refused if it has none of the file, TypeError if a later one may. */
function startOf({ status, headers }: Response, have: number): number {
  if (status === 200) return 0;
  if (status === 206) {
    const [, from] = /^bytes (\d+)-/.exec(headers.get('content-range') ?? '') ?? [];
    if (Number(from) === have) return have;
    throw new Refused('the server answers with another range than the one that was asked for');
  }
  if (status === 416 || status === 429 || status >= 500) throw new TypeError(`status ${status}`);
  throw new Refused(`the server answers with status ${status}: check the address and what it needs to be read`);
}

/** What proves that the server still has the version of which bytes are there; undefined if it has to begin again. */
function continuable(url: string, part: { readonly path: string; readonly version: string }): string | undefined {
  if (sizeOf(part.path) === 0) return undefined;
  try {
    const version: Partial<Version> = JSON.parse(readFileSync(part.version, 'utf8'));
    return version.url === url ? version.validator : undefined;
  } catch {
    return undefined;
  }
}

/** A weak tag does not say that the bytes are the same (RFC 9110, section 13.1.5). */
function validatorOf({ headers }: Response): string | undefined {
  const tag = headers.get('etag');
  return tag?.startsWith('"') === true ? tag : (headers.get('last-modified') ?? undefined);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** A signal that aborts when it was not restarted for this long. */
function silenceOf(ms: number) {
  const controller = new AbortController();
  const abort = () => controller.abort(new TypeError('the server is silent'));
  let timer = setTimeout(abort, ms);
  return {
    signal: controller.signal,
    restart: () => {
      clearTimeout(timer);
      timer = setTimeout(abort, ms);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** Returns false for errors of the disk and of the caller. */
function isOfNetwork(error: unknown): boolean {
  return !(error instanceof DomainError || (error instanceof Error && 'path' in error && 'syscall' in error));
}
