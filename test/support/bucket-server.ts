import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the server may answer wrongly; `name` is empty for a list. */
export interface BucketRequest {
  readonly method: string;
  readonly name: string;
  readonly body: Buffer;
}

/**
 * What goes wrong: no answer before (`drop`) or after (`lose`) the request is carried out, none at all (`hang`), half of the body (`cut`),
 * a changed byte (`flip`), or an error.
 */
export type BucketFault =
  | 'drop'
  | 'lose'
  | 'hang'
  | 'cut'
  | 'flip'
  | { status: number; code: string; headers?: Record<string, string> };

export const BUCKET_KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG' };
/** Pages of lists are short, so that there are several. */
const LIST_MAX = 7;

/**
 * A storage in memory with the bucket `books`, which judges signatures (after AWS's description of Signature Version 4), digests and conditions;
 * test/store/bucket-ceph.campaign.test.ts compares it with Ceph's.
 */
export class BucketServer implements AsyncDisposable {
  readonly objects = new Map<string, { bytes: Buffer; modifiedMs: number }>();
  readonly requests: BucketRequest[] = [];
  fault: (request: BucketRequest) => BucketFault | undefined = () => undefined;
  /** False: it ignores If-None-Match and If-Match, as some storages do. */
  hasConditions = true;
  /** False: lists lack the object, as those of some storages do for a while. */
  isListed: (name: string) => boolean = () => true;
  /** Another storage that carries out the requests in place of this one. */
  upstream: string | undefined;
  /** What it adds to the time. */
  aheadMs = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<BucketServer> {
    const server = new BucketServer();
    await new Promise<void>((resolve) => void server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get environment(): Record<string, string> {
    return { ...BUCKET_KEYS, AWS_ENDPOINT_URL: this.origin, AWS_REGION: 'us-east-1' };
  }

  /** The bytes of all bodies that were put since the last call. */
  takeUploaded(): number {
    const bytes = this.requests.reduce((sum, { method, body }) => sum + (method === 'PUT' ? body.length : 0), 0);
    this.requests.length = 0;
    return bytes;
  }

  names(start = ''): string[] {
    return [...this.objects.keys()].filter((name) => name.startsWith(start)).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const [method, url, body] = [request.method!, new URL(request.url!, this.origin), Buffer.concat(chunks)];
    const name = decodeURIComponent(url.pathname).replace(/^\/books\//, '');
    const asked = { method, name, body };
    this.requests.push(asked);
    const fault = this.fault(asked);
    if (fault === 'hang') return;
    if (fault === 'drop') return void request.socket.destroy();
    if (typeof fault === 'object') return refuse(response, fault.status, fault.code, fault.headers);
    if (this.upstream !== undefined) {
      const answer = await forwarded(this.upstream, request, body);
      return give(request, response, answer, fault);
    }
    const nowMs = Date.now() + this.aheadMs;
    response.setHeader('date', new Date(nowMs).toUTCString());
    const refusal = this.#refusal(request, url, body, nowMs);
    if (refusal !== undefined) return refuse(response, refusal === 'NoSuchBucket' ? 404 : 403, refusal);
    const answer = this.#carryOut(request, url, asked, nowMs);
    if (answer.code !== undefined && fault !== 'lose') return refuse(response, answer.status, answer.code);
    give(request, response, { ...answer, bytes: Buffer.from(answer.bytes ?? '') }, fault);
  }

  #refusal(request: IncomingMessage, url: URL, body: Buffer, nowMs: number): string | undefined {
    const { headers } = request;
    const stamp = String(headers['x-amz-date']);
    const sentMs = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    if (!(Math.abs(nowMs - sentMs) < 900_000)) return 'RequestTimeTooSkewed';
    const [, id, scope, signed, signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(
        String(headers.authorization),
      ) ?? [];
    if (id !== BUCKET_KEYS.AWS_ACCESS_KEY_ID) return 'InvalidAccessKeyId';
    const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
    if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch';
    const query = [...url.searchParams]
      .map((pair) => pair.map(encodeURIComponent).join('='))
      .sort()
      .join('&');
    const lines = signed!.split(';').map((header) => `${header}:${String(headers[header]).trim()}\n`);
    const canonical = [request.method, url.pathname, query, lines.join(''), signed, sha256(body)].join('\n');
    const text = ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n');
    const key = scope!
      .split('/')
      .reduce<string | Buffer>(
        (secret, part) => createHmac('sha256', secret).update(part).digest(),
        `AWS4${BUCKET_KEYS.AWS_SECRET_ACCESS_KEY}`,
      );
    if (createHmac('sha256', key).update(text).digest('hex') !== signature) return 'SignatureDoesNotMatch';
    return url.pathname.startsWith('/books/') ? undefined : 'NoSuchBucket';
  }

  #carryOut(
    { headers }: IncomingMessage,
    url: URL,
    { method, name, body }: BucketRequest,
    nowMs: number,
  ): { status: number; code?: string; bytes?: Buffer | string; headers?: Record<string, string> } {
    if (name === '') return { status: 200, bytes: this.#list(url.searchParams) };
    const found = this.objects.get(name);
    if (method === 'PUT') {
      const [none, match] = [headers['if-none-match'], headers['if-match']];
      const fails = (none === '*' && found !== undefined) || (match !== undefined && match !== tagOf(found?.bytes));
      if (this.hasConditions && fails) return { status: 412, code: 'PreconditionFailed' };
      this.objects.set(name, { bytes: body, modifiedMs: nowMs });
      return { status: 200, headers: { etag: tagOf(body) } };
    }
    if (method === 'DELETE') this.objects.delete(name);
    if (method === 'DELETE') return { status: 204 };
    if (found === undefined) return { status: 404, code: 'NoSuchKey' };
    const modified = new Date(found.modifiedMs).toUTCString();
    return { status: 200, bytes: found.bytes, headers: { etag: tagOf(found.bytes), 'last-modified': modified } };
  }

  #list(query: URLSearchParams): string {
    const after = query.get('continuation-token') ?? '';
    const all = this.names(query.get('prefix') ?? '').filter((name) => name > after && this.isListed(name));
    const page = all.slice(0, LIST_MAX);
    const items = page.map(
      (name) => `<Contents><Key>${name}</Key><Size>${this.objects.get(name)!.bytes.length}</Size></Contents>`,
    );
    const more = all.length > page.length;
    const token = more ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${items.join('')}${token}</ListBucketResult>`;
  }
}

function tagOf(bytes: Buffer | undefined): string {
  return bytes === undefined ? '' : `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function refuse(response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, headers)
    .end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
}

interface Given {
  readonly status: number;
  readonly bytes: Buffer;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
}

/** Gives an answer, in the way of a fault. */
function give(request: IncomingMessage, response: ServerResponse, answer: Given, fault: BucketFault | undefined): void {
  if (fault === 'lose') return void request.socket.destroy();
  const { status, bytes, headers } = answer;
  if (fault === 'flip' && bytes.length > 0) bytes[bytes.length >> 1]! ^= 1;
  response.writeHead(status, { ...headers, ...(status === 204 ? {} : { 'content-length': bytes.length }) });
  if (fault !== 'cut') return void response.end(bytes);
  response.write(bytes.subarray(0, bytes.length >> 1), () => request.socket.destroy());
}

/** Asks another storage with the same headers: they are signed. */
async function forwarded(origin: string, { method, url, headers }: IncomingMessage, body: Buffer): Promise<Given> {
  return await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin);
    const asking = send({ hostname, port, method: method!, path: url!, headers }, async (answer) => {
      const chunks: Buffer[] = [];
      for await (const chunk of answer) chunks.push(chunk as Buffer);
      const { 'transfer-encoding': _, connection: __, ...rest } = answer.headers;
      resolve({ status: answer.statusCode!, bytes: Buffer.concat(chunks), headers: rest });
    });
    asking.on('error', reject).end(body);
  });
}
