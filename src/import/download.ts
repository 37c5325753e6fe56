import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { DomainError } from '../domain/errors.ts';
import { explained, isSystemError } from '../store/database-errors.ts';
import { unreadable } from './source.ts';

/** Pauses before the next tries, in ms; each received byte starts them again. */
const PAUSES_MS = [250, 1000, 4000, 15_000];
/** A server that sends nothing for this long is asked again. */
const SILENCE_MS = 30_000;
/** The room on the disk is checked again after so many bytes: a server may send more than it stated, or state nothing. */
const CHECK_EVERY_BYTES = 64_000_000;
/** A date of the last change identifies one version only if the server's clock is later by this (RFC 9110, section 8.8.2.2). */
const SETTLED_MS = 60_000;
/** Encodings that imports undo. Some servers state them for files that are compressed, whatever the request accepts. */
const ENCODINGS = ['identity', 'gzip', 'x-gzip', 'zstd'];
const UNNAMED = 'download';
/** File systems allow 255, also for the endings that are added here. */
const NAME_BYTES_MAX = 200;

export interface DownloadOptions {
  /** Where the file goes, and what there is of it after an interruption. Created if it does not exist. */
  readonly directory: string;
  readonly signal?: AbortSignal;
  /**
   * Called with the bytes that are still to come, 0 if the server does not state them: before the first one is stored, and after
   * every 64 MB. What it throws ends the download.
   */
  readonly beforeBytes?: (bytes: number) => void;
  readonly onBytes?: (received: number) => void;
  /** For tests. */
  readonly pausesMs?: readonly number[];
  readonly silenceMs?: number;
}

/** What the server said of the version of which bytes are there. */
interface Version {
  /** A strong entity tag, or the date of the last change. Undefined: the download cannot be continued. */
  readonly validator?: string | undefined;
  /** Bytes of the whole file; undefined if the server did not state them. */
  readonly size?: number | undefined;
}

/** An answer that another try will not change. */
class Refused extends Error {}

export function isUrl(path: string): boolean {
  return /^https?:\/\//i.test(path);
}

/** A URL without credentials and query, which may be a signature: for reports and messages. Throws 'unreadable' if it is none. */
export function shownUrl(url: string): string {
  if (!URL.canParse(url)) {
    const shown = url.replace(/\/\/.*@/s, '//…@').replace(/[?#].*/s, '');
    throw unreadable(`'${shown.slice(0, 100)}' is not a URL: check its address`);
  }
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/**
 * Downloads a file, and returns its path, whose last part is that of the URL. A lost connection, and a download that an earlier process
 * began, are continued by a range (RFC 9110, section 14) if the server still has the same version; else it begins again. A finished
 * file is kept with its version, and returned again as long as the server has it. Throws 'unreadable', in a sentence, for a URL that cannot
 * be read, 'unavailable' for a disk that cannot be written, and the reason of the signal.
 */
export async function downloaded(url: string, options: DownloadOptions): Promise<string> {
  const shown = shownUrl(url);
  const directory = join(options.directory, createHash('sha256').update(url).digest('hex').slice(0, 16));
  const path = join(directory, nameOf(url));
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { pausesMs = PAUSES_MS, signal } = options;
  const part = { path: `${path}.part`, version: `${path}.version` };
  if (existsSync(path)) renameSync(path, part.path);
  for (let tries = 0; ; tries += 1) {
    const before = sizeOf(part.path);
    try {
      await receive(url, part, options);
      renameSync(part.path, path);
      return path;
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Refused) throw unreadable(`'${shown}' cannot be read: ${error.message}`, error);
      if (!isOfNetwork(error)) {
        return explained(part.path, () => {
          throw error;
        });
      }
      if (sizeOf(part.path) > before) tries = 0;
      const pauseMs = pausesMs[tries];
      if (pauseMs === undefined) {
        const reason = 'the connection was lost, or the server does not answer: run this again to continue';
        throw unreadable(`'${shown}' cannot be read: ${reason}`, error);
      }
      await pause(pauseMs, undefined, signal === undefined ? {} : { signal });
    }
  }
}

/** The name under which a file of the URL is stored: mappings read it. */
function nameOf(url: string): string {
  let name = basename(new URL(url).pathname);
  try {
    name = basename(decodeURIComponent(name));
  } catch {
    // It stays as the URL has it.
  }
  const isName = !/^\.{0,2}$/.test(name) && !name.includes('\0') && Buffer.byteLength(name) <= NAME_BYTES_MAX;
  return isName ? name : UNNAMED;
}

/** Receives the bytes that are missing. Throws Refused, errors of the network, and those of `beforeBytes`. */
async function receive(
  url: string,
  part: { readonly path: string; readonly version: string },
  { signal, beforeBytes, onBytes, silenceMs = SILENCE_MS }: DownloadOptions,
): Promise<void> {
  const known = versionOf(part);
  const have = known.validator === undefined ? 0 : sizeOf(part.path);
  using silence = silenceOf(silenceMs);
  const answer = await fetch(url, {
    headers: {
      'accept-encoding': 'identity',
      ...(have === 0 ? {} : { range: `bytes=${have}-`, 'if-range': known.validator! }),
    },
    decompress: false,
    signal: signal === undefined ? silence.signal : AbortSignal.any([silence.signal, signal]),
  });
  const { start, size } = placeOf(answer, have);
  const version: Version = { validator: validatorOf(answer), size };
  const hasSize = size === (known.size ?? size);
  // All bytes were there: of a download that was not finished, or of an import that was not.
  if (answer.status === 416 && size === have && hasSize) return;
  // A server may ignore the condition of the request.
  if (answer.status === 416 || (start > 0 && !(hasSize && version.validator === known.validator))) {
    rmSync(part.version, { force: true });
    throw new TypeError('the server has another version');
  }
  const encoding = answer.headers.get('content-encoding') ?? 'identity';
  if (!ENCODINGS.includes(encoding.toLowerCase())) {
    const remedy = 'download it with another program, and import the file';
    throw new Refused(`the server sends it with the Content-Encoding '${encoding}': ${remedy}`);
  }
  const checkRoom = (reached: number) => beforeBytes?.(Math.max(0, (size ?? 0) - reached));
  checkRoom(start);
  // In this order: a version must never stand beside the bytes of another one.
  if (start === 0) rmSync(part.version, { force: true });
  await using file = await open(part.path, start === 0 ? 'w' : 'a', 0o600);
  if (start === 0) writeFileSync(part.version, JSON.stringify(version), { mode: 0o600 });
  let received = 0;
  let nextCheck = CHECK_EVERY_BYTES;
  for await (const chunk of answer.body ?? []) {
    silence.restart();
    if (received >= nextCheck) {
      checkRoom(start + received);
      nextCheck += CHECK_EVERY_BYTES;
    }
    await file.writeFile(chunk);
    received += chunk.length;
    onBytes?.(start + received);
  }
  // A range may be shorter than the one that was asked for; without a size, the next answer says that nothing is missing.
  const isWhole = size === undefined ? answer.status === 200 : start + received === size;
  if (!isWhole) throw new TypeError(`${start + received} of ${size ?? 'unknown'} bytes arrived`);
}

/**
 * The position at which the bytes of an answer begin, and the size of the whole file if the server states it. Throws Refused if the answer
 * has nothing of the file, TypeError if a later one may.
 */
function placeOf({ status, headers }: Response, have: number): { start: number; size: number | undefined } {
  const numberOf = (digits: string | null | undefined) => (/^\d+$/.test(digits ?? '') ? Number(digits) : undefined);
  if (status === 200) return { start: 0, size: numberOf(headers.get('content-length')) };
  const [, from, size] = /^bytes (?:(\d+)-\d+|\*)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
  if (status === 206 && numberOf(from) === have) return { start: have, size: numberOf(size) };
  if (status === 206) throw new Refused('the server answers with another range than the one that was asked for');
  if (status === 416 && have > 0) return { start: 0, size: numberOf(size) };
  if (status === 429 || status >= 500) throw new TypeError(`status ${status}`);
  throw new Refused(`the server answers with status ${status}: check the address and what it needs to be read`);
}

/** The version of which bytes are there; without a validator if they cannot be continued. */
function versionOf(part: { readonly version: string }): Version {
  try {
    return JSON.parse(readFileSync(part.version, 'utf8'));
  } catch {
    return {};
  }
}

/** Undefined for a weak tag or a recent date, which do not say that the bytes are the same (RFC 9110, section 8.8). */
function validatorOf({ headers }: Response): string | undefined {
  const [tag, changed] = [headers.get('etag'), headers.get('last-modified')];
  if (tag?.startsWith('"') === true) return tag;
  const isSettled = Date.parse(headers.get('date') ?? '') - Date.parse(changed ?? '') >= SETTLED_MS;
  return isSettled ? changed! : undefined;
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

/** Returns false for errors of the disk and of the caller. Those of fetch are TypeErrors, also if they name a system call. */
function isOfNetwork(error: unknown): boolean {
  return error instanceof TypeError || !(error instanceof DomainError || isSystemError(error));
}
