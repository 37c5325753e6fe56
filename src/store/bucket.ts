import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sign } from 'aws4';
import { DomainError } from '../domain/errors.ts';
import type { InstantMs } from '../domain/instant.ts';
import { sha256Of } from './file-digest.ts';
import { readPrivateFile } from './secret-file.ts';

/** The address of a bucket, and of a folder in it: other characters would have to be escaped in URLs, XML and shells. */
const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.\-/]*))?$/;
/** The time for a request: to get an answer, and for each byte on a slow line. */
const ANSWER_MS = 30_000;
const BYTES_PER_MS_MIN = 100;
/** The pauses between tries double, from this one: 32 s in all. */
const PAUSE_MS = 250;
const TRIES = 8;
/** The time for each request of a command that ends. */
const LAST_ANSWER_MS = 2000;
/** Errors that pass, and bodies that were changed on the way. Those with a status of 5xx or 429 are retried too. */
const PASSING =
  /^(?:SlowDown|RequestTimeout|OperationAborted|ConditionalRequestConflict|BadDigest|XAmzContentSHA256Mismatch|IncompleteBody)$/;
const WRONG_CREDENTIALS =
  /^(?:InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|ExpiredToken|TokenRefreshRequired)$/;
const WRONG_REGION =
  /^(?:PermanentRedirect|TemporaryRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraintException)$/;

/** Where a bucket is, and who signs requests to it. */
export interface BucketAccess {
  /** The address of the bucket and folder: `s3://BUCKET/PREFIX`, without a slash at its end. */
  readonly address: string;
  readonly bucket: string;
  /** Empty, or with a slash at its end. */
  readonly prefix: string;
  /** Origin and path to which names of objects are appended. */
  readonly base: string;
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
}

/** How long requests and the pauses between them take; tests choose short ones. */
export interface BucketTimes {
  readonly answerMs: number;
  readonly pauseMs: number;
  readonly tries: number;
}

export interface BucketOptions extends Partial<BucketTimes> {
  /** From then on requests have two seconds, and are not tried again: a command that ends may still give up its lock. */
  readonly signal?: AbortSignal | undefined;
}

/** An object of a bucket. */
export interface BucketObject {
  readonly bytes: Buffer;
  /** Its entity tag, for `replace`. */
  readonly tag: string;
  /** Time since it was written, by the clock of the storage. */
  readonly ageMs: number;
}

interface Question {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** S3's name of an error; empty without one. */
  readonly code: string;
}

/**
 * Reads where `s3://BUCKET/PREFIX` is from the variables of AWS that S3 clients have in common: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 * AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL; what they lack is read from the profile AWS_PROFILE of the file
 * AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials). Throws 'invalid-parameter' for a wrong address, and without credentials.
 */
export function bucketAccess(address: string, environment: Readonly<Record<string, string | undefined>>): BucketAccess {
  const [, bucket, folder = ''] = ADDRESS.exec(address) ?? [];
  if (bucket === undefined || /\/\/|(?:^|\/)\.\.?(?:\/|$)/.test(folder)) {
    throw new DomainError('invalid-parameter', `'${address}' is no bucket: write it like s3://bucket/folder`);
  }
  const path = environment.AWS_SHARED_CREDENTIALS_FILE ?? join(environment.HOME ?? '', '.aws/credentials');
  const mustExist = environment.AWS_SHARED_CREDENTIALS_FILE !== undefined && !environment.AWS_ACCESS_KEY_ID;
  const profile = mustExist || existsSync(path) ? profileIn(path, environment.AWS_PROFILE ?? 'default') : {};
  const [keyId, secret, token] = (['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'] as const).map(
    // A key of the variables never goes with a secret of the file.
    (name) => (environment.AWS_ACCESS_KEY_ID ? environment[`AWS_${name}`] : profile[`aws_${name.toLowerCase()}`]),
  );
  if (!keyId || !secret) {
    throw new DomainError(
      'invalid-parameter',
      `there are no credentials for '${address}': set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file that has them with AWS_SHARED_CREDENTIALS_FILE`,
    );
  }
  const region = environment.AWS_REGION || environment.AWS_DEFAULT_REGION || profile.region || 'us-east-1';
  const endpoint = environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL || profile.endpoint_url;
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) {
    throw new DomainError(
      'invalid-parameter',
      `the endpoint '${endpoint.replace(/^(\w+:\/\/)?.*@/s, '$1')}' is no URL: write it like https://s3.example.com`,
    );
  }
  // A certificate for *.s3.… does not cover a bucket with dots.
  const amazon = bucket.includes('.') ? `s3.${region}.amazonaws.com/${bucket}` : `${bucket}.s3.${region}.amazonaws.com`;
  const base = endpoint === undefined ? `https://${amazon}/` : `${endpoint.replace(/\/+$/, '')}/${bucket}/`;
  const trimmed = folder.replace(/^\/|\/$/g, '');
  return {
    address: `s3://${bucket}${trimmed && `/${trimmed}`}`,
    ...{ bucket, prefix: trimmed && `${trimmed}/`, base, region },
    credentials: { accessKeyId: keyId, secretAccessKey: secret, ...(token && { sessionToken: token }) },
  };
}

/** The settings of a profile in a file of `[profile]` and `name = value`. */
function profileIn(path: string, profile: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  let section = '';
  for (const line of readPrivateFile(path).split('\n')) {
    section = /^\s*\[(?:profile\s+)?([^\]]+?)\s*\]/.exec(line)?.[1] ?? section;
    const [, name, value] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === profile && name !== undefined) found[name] = value!;
  }
  return found;
}

/**
 * A folder of an S3-compatible storage. Requests are signed (AWS Signature Version 4, with the digest of the body), end in time, and are tried
 * again with growing pauses when the storage is busy or does not answer. Throws 'unavailable' with one sentence for what stays wrong.
 */
export class Bucket {
  readonly access: BucketAccess;
  readonly #clock: () => InstantMs;
  readonly #times: BucketTimes;
  readonly #signal: AbortSignal | undefined;

  constructor(access: BucketAccess, clock: () => InstantMs, { signal, ...times }: BucketOptions = {}) {
    this.access = access;
    this.#clock = clock;
    this.#signal = signal;
    this.#times = { answerMs: ANSWER_MS, pauseMs: PAUSE_MS, tries: TRIES, ...times };
  }

  get address(): string {
    return this.access.address;
  }

  /**
   * Reads an object; undefined if there is none. If its bytes are not `whole`, or do not have this SHA-256, it is read again, and in the end refused
   * ('unreadable').
   */
  async get(name: string, whole?: string | ((bytes: Buffer) => boolean)): Promise<BucketObject | undefined> {
    const isWhole = typeof whole === 'string' ? (bytes: Buffer) => sha256Of(bytes) === whole : whole;
    const answer = await this.#ask('GET', name, {}, isWhole);
    if (answer.status === 404) return undefined;
    const [date, modified] = ['date', 'last-modified'].map((header) => Date.parse(answer.headers.get(header) ?? ''));
    return { bytes: answer.bytes, tag: answer.headers.get('etag') ?? '', ageMs: date! - modified! };
  }

  /** Writes an object, also over another one. */
  async put(name: string, body: Uint8Array): Promise<void> {
    await this.#ask('PUT', name, { body });
  }

  /** Writes an object that does not exist yet. False: there is another one. True also if there are the same bytes. */
  async create(name: string, body: Uint8Array): Promise<boolean> {
    return await this.#putIf(name, body, { 'If-None-Match': '*' });
  }

  /** Writes an object over the one with this entity tag. False: there is another one. True also if there are the same bytes. */
  async replace(name: string, body: Uint8Array, tag: string): Promise<boolean> {
    if (await this.#putIf(name, body, { 'If-Match': tag })) return true;
    // Ceph 16 compares it with the tag as it is without quotes.
    return await this.#putIf(name, body, { 'If-Match': tag.replaceAll('"', '') });
  }

  /** The objects whose names begin with `start`, in the order of their names. */
  async *list(start: string): AsyncGenerator<{ readonly name: string; readonly bytes: number }> {
    const prefix = `${this.access.prefix}${start}`;
    for (let after: string | undefined; ; ) {
      const more = after === undefined ? {} : { 'continuation-token': after };
      const { bytes } = await this.#ask('GET', undefined, { query: { 'list-type': '2', prefix, ...more } });
      const text = bytes.toString();
      if (!text.includes('<ListBucketResult')) throw this.#noStorage('its list is none of S3');
      for (const [, item] of text.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        yield {
          name: elementOf(item!, 'Key').slice(this.access.prefix.length),
          bytes: Number(elementOf(item!, 'Size')),
        };
      }
      if (elementOf(text, 'IsTruncated') !== 'true') return;
      const next = elementOf(text, 'NextContinuationToken');
      if (next === '' || next === after) throw this.#noStorage('its list does not say where it continues');
      after = next;
    }
  }

  /** Does nothing if there is none. */
  async delete(name: string): Promise<void> {
    await this.#ask('DELETE', name);
  }

  async #putIf(name: string, body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<boolean> {
    const { status } = await this.#ask('PUT', name, { headers, body });
    if (status < 400) return true;
    // The answer to an earlier try may have been lost. Nothing to be replaced is 404, too.
    return (await this.get(name))?.bytes.equals(body) === true;
  }

  /** Answers with an error only if it is 404 of an object that is asked for, deleted or replaced, or 412 of a condition. */
  async #ask(
    method: string,
    name: string | undefined,
    question: Question = {},
    isWhole: (bytes: Buffer) => boolean = () => true,
  ): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.#askOnce(method, name, question);
      let fault: string;
      if (answer instanceof Error) fault = `'${this.#origin}' does not answer (${answer.name}: ${answer.message})`;
      else {
        const { status, code, bytes } = answer;
        const isFinal = this.#isFinal(method, name, question, answer);
        const isDamaged = status < 300 && !isWhole(bytes);
        if (isFinal && !isDamaged) return answer;
        fault = `'${this.#origin}' answers ${status} ${code}`.trimEnd();
        if (isDamaged && tries >= this.#times.tries) {
          const remedy =
            'delete this object, and the next backup or publication writes it again if the archive still has it';
          throw new DomainError('unreadable', `'${this.address}/${name}' is damaged: ${remedy}`);
        }
      }
      if (tries >= this.#times.tries)
        throw new DomainError('unavailable', `${fault}, after ${tries} tries: run this again later`);
      const pauseMs = this.#times.pauseMs * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      await pause(pauseMs, undefined, { signal: this.#signal }).catch(() => undefined);
      if (this.#isEnding) throw new DomainError('unavailable', `${fault}, and this command ends`);
    }
  }

  /** Returns false for an error that may pass. Throws 'unavailable' for one that does not, and for answers that S3 does not give. */
  #isFinal(method: string, name: string | undefined, question: Question, answer: Answer): boolean {
    const { status, code, headers } = answer;
    if (status === 200 && name !== undefined && method !== 'DELETE' && !headers.has('etag')) {
      throw this.#noStorage(`its answer to ${method} has no ETag`);
    }
    if (status < 300) return true;
    if (status === 404 && code === '') throw this.#noStorage('404 without a code of S3');
    const conditions = Object.keys(question.headers ?? {});
    const mayLack = name !== undefined && (method !== 'PUT' || conditions.includes('If-Match'));
    if (status === 404 && mayLack && code !== 'NoSuchBucket') return true;
    if (status === 412 && conditions.length > 0) return true;
    const passes = (status >= 500 && status !== 501) || status === 429 || PASSING.test(code);
    if (!passes) throw new DomainError('unavailable', this.#sentence(method, name, answer));
    return false;
  }

  /** Returns the error if no whole answer came. */
  async #askOnce(
    method: string,
    name: string | undefined,
    { query, headers, body }: Question,
  ): Promise<Answer | Error> {
    const url = new URL(name === undefined ? this.access.base : `${this.access.base}${this.access.prefix}${name}`);
    url.search = new URLSearchParams(query).toString();
    const signed = sign(
      {
        ...{ service: 's3', region: this.access.region, method, host: url.host, path: `${url.pathname}${url.search}` },
        headers: {
          ...headers,
          // Needed where objects are locked.
          ...(body === undefined ? {} : { 'Content-MD5': createHash('md5').update(body).digest('base64') }),
          'X-Amz-Content-Sha256': sha256Of(body ?? ''),
          'X-Amz-Date': new Date(this.#clock()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
        },
      },
      this.access.credentials,
    );
    const ending = new AbortController();
    const end = () => ending.abort(new DOMException('it took too long', 'TimeoutError'));
    const timeFor = (bytes: number) =>
      setTimeout(end, this.#isEnding ? LAST_ANSWER_MS : this.#times.answerMs + bytes / BYTES_PER_MS_MIN);
    let timer = timeFor(body?.length ?? 0);
    const endSoon = () => {
      clearTimeout(timer);
      timer = timeFor(0);
    };
    this.#signal?.addEventListener('abort', endSoon);
    try {
      const response = await fetch(url, {
        method,
        headers: signed.headers as Record<string, string>,
        body: (body as Uint8Array<ArrayBuffer> | undefined) ?? null,
        redirect: 'manual',
        signal: ending.signal,
      });
      clearTimeout(timer);
      const length = Number(response.headers.get('content-length') ?? Number.NaN);
      timer = timeFor(length || 0);
      const bytes = Buffer.from(await response.arrayBuffer());
      if (length >= 0 && length !== bytes.length) throw new Error('the answer was cut');
      const { status } = response;
      const code = status < 300 ? '' : elementOf(bytes.toString('utf8', 0, 10_000), 'Code');
      return { status, headers: response.headers, bytes, code };
    } catch (error) {
      if (error instanceof Error) return error;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#signal?.removeEventListener('abort', endSoon);
    }
  }

  get #isEnding(): boolean {
    return this.#signal?.aborted === true;
  }

  get #origin(): string {
    return new URL(this.access.base).origin;
  }

  #noStorage(reason: string): DomainError {
    const sentence = `'${this.#origin}' is no S3 storage (${reason}): correct the endpoint, which AWS_ENDPOINT_URL names`;
    return new DomainError('unavailable', sentence);
  }

  /** What is wrong with a request that would fail again, and what to do. */
  #sentence(method: string, name: string | undefined, { status, code, headers, bytes }: Answer): string {
    const { bucket, region } = this.access;
    const text = bytes.toString('utf8', 0, 10_000);
    const reason = `${status} ${code}`.trimEnd();
    if (code === 'RequestTimeTooSkewed') {
      const seconds = Math.round((this.#clock() - Date.parse(headers.get('date') ?? '')) / 1000);
      const off = Number.isNaN(seconds) ? '' : ` by ${Math.abs(seconds)} s`;
      return `the clock of this machine is wrong${off}, says '${this.#origin}': set it, as 'timedatectl set-ntp true' does`;
    }
    if (WRONG_CREDENTIALS.test(code)) {
      return `'${this.#origin}' refuses the credentials (${reason}): check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the file that has them`;
    }
    const rightRegion = headers.get('x-amz-bucket-region') || elementOf(text, 'Region');
    if (WRONG_REGION.test(code) || (status >= 300 && status < 400)) {
      const right = rightRegion === '' ? 'that of the bucket' : `AWS_REGION=${rightRegion}`;
      return `the bucket '${bucket}' is not in the region '${region}' (${reason}): set ${right}, or the endpoint of its region`;
    }
    if (status === 403) {
      return `the credentials may not ${method} ${name ?? 'the list'} in '${this.address}' (${reason}): allow them to list the bucket, and to read, write and delete its objects`;
    }
    if (status === 404 && (name === undefined || code === 'NoSuchBucket'))
      return `'${this.#origin}' has no bucket '${bucket}' (${reason}): create it, or correct its name`;
    const detail = elementOf(text, 'Message');
    return `'${this.#origin}' refuses ${method} ${name ?? 'the list'} (${reason}${detail && `: ${detail}`}): see the documentation of the storage`;
  }
}

/** The text of the first element of a name in XML; empty without one. */
function elementOf(xml: string, name: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? '';
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (_, entity: string) => ENTITIES[entity]!);
}
const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };
