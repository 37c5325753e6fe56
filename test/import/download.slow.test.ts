import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DomainError } from '../../src/domain/errors.ts';
import { downloaded, shownUrl } from '../../src/import/download.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { randomsOf } from '../support/random-books.ts';

const random = randomsOf(7);
const BYTES = Uint8Array.from({ length: 300_000 }, () => Math.floor(random() * 256));
const OTHER = BYTES.toReversed();
const QUICK = { pausesMs: [1, 1, 1] };

interface Behaviour {
  /** Bytes after which the connection is closed, by the number of the request. */
  readonly cutAfter?: readonly (number | undefined)[];
  readonly tags?: readonly (string | undefined)[];
  readonly statuses?: readonly number[];
  readonly contents?: readonly Uint8Array[];
  readonly falls?: 'silent';
  readonly hasNoRanges?: boolean;
  readonly ignoresCondition?: boolean;
  /** The most bytes of a range. */
  readonly rangeMax?: number;
  readonly hidesSize?: boolean;
  readonly modified?: string;
  readonly headers?: string;
}

/** A server of one file, on a socket of its own: Bun.serve cannot cut an answer whose length it stated. */
function startFile({
  cutAfter = [],
  tags = ['"1"'],
  statuses = [],
  contents = [BYTES],
  falls,
  hasNoRanges,
  ignoresCondition,
  rangeMax = Number.POSITIVE_INFINITY,
  hidesSize,
  modified,
  headers = modified === undefined ? '' : `last-modified: ${modified}\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\n`,
}: Behaviour) {
  const requests: string[] = [];
  let close: (received: number) => void = () => {};
  const nth = <T>(list: readonly T[], index: number) => list[Math.min(index, list.length - 1)];
  const server = Bun.listen<{ text: string }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: (socket) => {
        socket.data = { text: '' };
      },
      data: (socket, chunk) => {
        socket.data.text += chunk.toString();
        if (!socket.data.text.includes('\r\n\r\n')) return;
        const index = requests.length;
        const [, from] = /range: bytes=(\d+)-/i.exec(socket.data.text) ?? [];
        requests.push(`${from ?? 'all'}`);
        const tag = nth(tags, index);
        const condition = /if-range: (.+)\r/i.exec(socket.data.text)?.[1];
        const content = nth(contents, index)!;
        const isSame = ignoresCondition === true || condition === (tag ?? modified);
        const isRange = from !== undefined && isSame && hasNoRanges !== true;
        const start = isRange ? Number(from) : 0;
        const status = statuses[index] ?? (isRange ? (start >= content.length ? 416 : 206) : 200);
        const body = status < 300 ? content.subarray(start, isRange ? start + rangeMax : undefined) : new Uint8Array();
        const range =
          status === 416
            ? `bytes */${content.length}`
            : `bytes ${start}-${start + body.length - 1}/${hidesSize === true ? '*' : content.length}`;
        socket.write(
          `HTTP/1.1 ${status} X\r\ncontent-length: ${body.length}\r\n${tag === undefined ? '' : `etag: ${tag}\r\n`}${
            status === 206 || status === 416 ? `content-range: ${range}\r\n` : ''
          }${headers}connection: close\r\n\r\n`,
        );
        const cut = cutAfter[index];
        let sent = 0;
        close =
          cut === undefined || falls === 'silent' ? () => {} : (received) => received >= start + cut && socket.end();
        const end = cut ?? body.length;
        const send = () => {
          while (sent < end) {
            const written = socket.write(body.subarray(sent, end));
            if (written <= 0) return;
            sent += written;
          }
          if (cut === undefined) socket.end();
          else close(start);
        };
        Object.assign(socket.data, { send });
        send();
      },
      drain: (socket) => (socket.data as { send?: () => void }).send?.(),
    },
  });
  return {
    requests,
    /** Loses the connection where it is to be lost: not before the client has the bytes up to there. */
    onBytes: (received: number) => close(received),
    url: `http://127.0.0.1:${server.port}/a%20b/books.csv?signature=secret`,
    [Symbol.dispose]: () => server.stop(true),
  };
}

describe('a file that is downloaded', () => {
  const cases: readonly (readonly [string, Behaviour, readonly string[]])[] = [
    ['comes in one piece', {}, ['all']],
    ['is continued where the connection was lost', { cutAfter: [100_000, 50_000] }, ['all', '100000', '150000']],
    ['is continued where the server fell silent', { cutAfter: [100_000], falls: 'silent' }, ['all', '100000']],
    [
      'begins again if the server has another version',
      { cutAfter: [100_000], tags: ['"1"', '"2"'] },
      ['all', '100000'],
    ],
    ['begins again if the server has no ranges', { cutAfter: [100_000], hasNoRanges: true }, ['all', '100000']],
    [
      'begins again if a server ignores the condition, and has another version',
      { cutAfter: [100_000], tags: ['"0"', '"1"'], contents: [OTHER, BYTES], ignoresCondition: true },
      ['all', '100000', 'all'],
    ],
    [
      'begins again if a server ignores the condition, and the file is shorter',
      { cutAfter: [400_000], contents: [Buffer.concat([OTHER, OTHER]), BYTES], ignoresCondition: true },
      ['all', '400000', 'all'],
    ],
    ['is asked for until it is whole', { cutAfter: [100_000], rangeMax: 120_000 }, ['all', '100000', '220000']],
    [
      'begins again if a range does not state the size',
      { cutAfter: [100_000], hidesSize: true },
      ['all', '100000', 'all'],
    ],
    [
      'is continued if it was last changed a minute ago',
      { cutAfter: [100_000], tags: [undefined], modified: 'Sun, 06 Nov 1994 08:48:37 GMT' },
      ['all', '100000'],
    ],
    [
      'begins again if it was last changed a second ago',
      { cutAfter: [100_000], tags: [undefined], modified: 'Sun, 06 Nov 1994 08:49:36 GMT' },
      ['all', 'all'],
    ],
    ['begins again if the tag is weak', { cutAfter: [100_000], tags: ['W/"1"'] }, ['all', 'all']],
    ['begins again if the server states no version', { cutAfter: [100_000], tags: [undefined] }, ['all', 'all']],
    ['is asked for again after 503 and 429', { statuses: [503, 429] }, ['all', 'all', 'all']],
  ];
  test.each(cases)('%s', async (_, behaviour, asked) => {
    using directory = temporaryDirectory();
    using server = startFile(behaviour);
    const silence = behaviour.falls === 'silent' ? { silenceMs: 2000 } : {};
    const options = { directory: directory.path, onBytes: server.onBytes, ...QUICK, ...silence };
    const path = await downloaded(server.url, options);
    expect(readFileSync(path).equals(BYTES)).toBe(true);
    expect(basename(path)).toBe('books.csv');
    expect(readdirSync(join(path, '..'))).toEqual(['books.csv', 'books.csv.version']);
    expect(server.requests).toEqual([...asked]);
  });

  test('never mixes two versions', async () => {
    using directory = temporaryDirectory();
    using server = startFile({ cutAfter: [100_000], tags: ['"1"', '"2"'], contents: [BYTES, OTHER] });
    const path = await downloaded(server.url, { directory: directory.path, onBytes: server.onBytes, ...QUICK });
    expect(readFileSync(path).equals(OTHER)).toBe(true);
  });

  test('is continued by the next command', async () => {
    using directory = temporaryDirectory();
    using server = startFile({ cutAfter: [100_000, 0, 0, 0, 0] });
    const options = { directory: directory.path, onBytes: server.onBytes, ...QUICK };
    await expect(downloaded(server.url, options)).rejects.toThrow('run this again to continue');
    expect(server.requests).toHaveLength(4);
    const path = await downloaded(server.url, options);
    expect(readFileSync(path).equals(BYTES)).toBe(true);
  });

  test.each([
    ['all of it, and nothing is asked for again', BYTES, ['300000']],
    ['more than the server has, and it begins again', Buffer.concat([BYTES, BYTES]), ['600000', 'all']],
  ])('may be there already: %s', async (_, there, asked) => {
    using directory = temporaryDirectory();
    using server = startFile({});
    const options = { directory: directory.path, ...QUICK };
    const path = await downloaded(server.url, options);
    writeFileSync(`${path}.version`, JSON.stringify({ validator: '"1"' }));
    unlinkSync(path);
    writeFileSync(`${path}.part`, there);
    server.requests.length = 0;
    expect(readFileSync(await downloaded(server.url, options)).equals(BYTES)).toBe(true);
    expect(server.requests).toEqual(asked);
  });

  test.each([
    [404, 'the server answers with status 404: check the address and what it needs to be read'],
    [403, 'status 403'],
  ])('is refused with status %d, at once and without the signature', async (status, sentence) => {
    using directory = temporaryDirectory();
    using server = startFile({ statuses: [status] });
    const failed = downloaded(server.url, { directory: directory.path, ...QUICK });
    await expect(failed).rejects.toThrow(sentence);
    await expect(failed).rejects.not.toThrow('secret');
    expect(server.requests).toEqual(['all']);
  });

  test('is not stored if there is no room for it', async () => {
    using directory = temporaryDirectory();
    using server = startFile({});
    const sizes: number[] = [];
    const beforeBytes = (bytes: number) => {
      sizes.push(bytes);
      throw new DomainError('unavailable', 'no room');
    };
    await expect(downloaded(server.url, { directory: directory.path, beforeBytes, ...QUICK })).rejects.toThrow(
      'no room',
    );
    expect(sizes).toEqual([BYTES.length]);
  });

  test('is returned again while the server has this version, and its signature is not stored', async () => {
    using directory = temporaryDirectory();
    using server = startFile({ tags: ['"1"', '"1"', '"2"'], contents: [BYTES, BYTES, OTHER] });
    const options = { directory: directory.path, ...QUICK };
    for (const expected of [BYTES, BYTES, OTHER]) {
      const path = await downloaded(server.url, options);
      expect(readFileSync(path).equals(expected)).toBe(true);
      expect(readFileSync(`${path}.version`, 'utf8')).not.toContain('secret');
    }
    expect(server.requests).toEqual(['all', '300000', '300000']);
  });

  test('has no version while the bytes of another one are there', async () => {
    using directory = temporaryDirectory();
    using server = startFile({});
    const options = { directory: directory.path, ...QUICK };
    const path = await downloaded(server.url, options);
    unlinkSync(path);
    writeFileSync(`${path}.version`, JSON.stringify({ validator: '"0"' }));
    mkdirSync(`${path}.part`);
    await expect(downloaded(server.url, options)).rejects.toThrow('it is a directory');
    expect(existsSync(`${path}.version`)).toBe(false);
  });

  test('meets a full disk, and one sentence says so', async () => {
    using directory = temporaryDirectory();
    using server = startFile({});
    const options = { directory: directory.path, ...QUICK };
    const path = await downloaded(server.url, options);
    unlinkSync(path);
    symlinkSync('/dev/full', `${path}.part`);
    await expect(downloaded(server.url, options)).rejects.toThrow(`the disk is full, '${path}.part' cannot grow`);
    expect(server.requests).toHaveLength(2);
  });

  test('is not stored beyond the disk floor, also if the server does not state its size', async () => {
    using directory = temporaryDirectory();
    const fetch = () => {
      let chunks = 20;
      const pull = (to: ReadableStreamDefaultController<Uint8Array>) => {
        to.enqueue(new Uint8Array(4_000_000));
        chunks -= 1;
        if (chunks === 0) to.close();
      };
      return new Response(new ReadableStream({ pull }));
    };
    await using server = Bun.serve({ port: 0, fetch });
    const checks: number[] = [];
    const beforeBytes = (bytes: number) => {
      checks.push(bytes);
      if (checks.length === 2) throw new DomainError('unavailable', 'no room');
    };
    await expect(downloaded(server.url.href, { directory: directory.path, beforeBytes, ...QUICK })).rejects.toThrow(
      'no room',
    );
    expect(checks).toEqual([0, 0]);
  });

  test('keeps the gzip that a server states for it, and is refused with an encoding that imports do not undo', async () => {
    using directory = temporaryDirectory();
    const packed = gzipSync('books');
    using server = startFile({ contents: [packed], headers: 'content-encoding: x-gzip\r\n' });
    const path = await downloaded(server.url, { directory: directory.path, ...QUICK });
    expect(readFileSync(path).equals(packed)).toBe(true);
    using other = startFile({ headers: 'content-encoding: br\r\n' });
    const sentence =
      "the server sends it with the Content-Encoding 'br': download it with another program, and import the file";
    await expect(downloaded(other.url, { directory: directory.path, ...QUICK })).rejects.toThrow(sentence);
  });

  test('is refused with status 416 if nothing of it is there', async () => {
    using directory = temporaryDirectory();
    using server = startFile({ statuses: [416], contents: [new Uint8Array()] });
    const failed = downloaded(server.url, { directory: directory.path, ...QUICK });
    await expect(failed).rejects.toThrow('the server answers with status 416');
  });

  test.each(['', 'x%2F..', '%2E', 'x%2F', 'a%00b', 'x'.repeat(201), 'ü'.repeat(101)])(
    'has a directory of its own, and a name: %j',
    async (last) => {
      using directory = temporaryDirectory();
      using server = startFile({});
      const url = new URL(`/${last}`, server.url).href;
      const path = await downloaded(url, { directory: directory.path, ...QUICK });
      expect(basename(path)).toBe(last === 'x%2F' ? 'x' : 'download');
      expect(dirname(dirname(path))).toBe(directory.path);
      expect(readdirSync(directory.path)).toHaveLength(1);
    },
  );

  test.each(['http://user:sec/ret@host:99999/a', 'http://host:99999/a?key=sec/ret'])(
    'has a URL, else it is refused without what may be secret: %s',
    async (url) => {
      const failed = downloaded(url, { directory: '/nowhere' });
      await expect(failed).rejects.toThrow(/^'http:[^?]*' is not a URL: check its address$/);
      await expect(failed).rejects.not.toThrow('sec');
    },
  );

  test('is shown without credentials and query', () => {
    expect(shownUrl('https://user:password@example.com:8443/a/b.csv?X-Signature=1#c')).toBe(
      'https://example.com:8443/a/b.csv',
    );
  });
});
