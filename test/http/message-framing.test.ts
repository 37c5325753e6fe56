import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import fc from 'fast-check';
import { AnswerFraming, frameOf } from '../../src/http/message-framing.ts';

const LIMITS = { headBytesMax: 16_384, targetBytesMax: 8192, bodyBytesMax: 65_536 };

interface Answer {
  readonly bytes: Buffer;
  readonly isHead: boolean;
}

const body = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes));

/** Answers of every kind that end by themselves, each with where it ends: at its last byte. */
const answer: fc.Arbitrary<Answer> = fc.oneof(
  body.map((bytes) => ({ bytes: withHead(200, `Content-Length: ${bytes.length}`, bytes), isHead: false })),
  fc.array(body, { maxLength: 5 }).map((chunks) => ({ bytes: chunked(chunks), isHead: false })),
  fc.constantFrom(204, 304).map((status) => ({ bytes: withHead(status, 'X: a', Buffer.alloc(0)), isHead: false })),
  fc.nat(1000).map((length) => ({ bytes: withHead(200, `content-length: ${length}`, Buffer.alloc(0)), isHead: true })),
  fc.constant({ bytes: withHead(200, 'Transfer-Encoding: chunked', Buffer.alloc(0)), isHead: true }),
);

function withHead(status: number, field: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Text\r\nDate: now\r\n${field}\r\n\r\n`), content]);
}

function chunked(chunks: readonly Buffer[]): Buffer {
  const parts = chunks
    .filter((chunk) => chunk.length > 0)
    .flatMap((chunk) => [Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
  return withHead(200, 'Transfer-Encoding: chunked', Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]));
}

describe('the end of an answer', () => {
  test('is its last byte, in whatever pieces it comes', () => {
    fc.assert(
      fc.property(answer, fc.array(fc.nat(900), { maxLength: 12 }), ({ bytes, isHead }, cuts) => {
        const framing = new AnswerFraming();
        framing.begin(isHead);
        const places = [...new Set(cuts.map((cut) => cut % bytes.length)), bytes.length].sort((a, b) => a - b);
        let from = 0;
        for (const to of places) {
          const part = framing.take(bytes.subarray(from, to));
          if (to > 0) expect(part === 'ended').toBe(to === bytes.length);
          from = to;
        }
        expect(framing.take(Buffer.from('H'))).toBe('broken');
      }),
    );
  });

  test.each([
    ['no answer', 'nonsense\r\n\r\n'],
    ['an interim answer', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['a chunk without a size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
    ['a head without an end', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}`],
  ])('of %s is none', (_, text) => {
    const framing = new AnswerFraming();
    framing.begin(false);
    expect(framing.take(Buffer.from(text))).toBe('broken');
  });
});

describe('the frame of a request', () => {
  const name = fc.constantFrom(
    'Content-Length',
    'content-length',
    'Transfer-Encoding',
    'Host',
    'Connection',
    'X',
    'X ',
  );
  const value = fc.constantFrom(
    '0',
    '5',
    '05',
    '5, 5',
    '+5',
    'chunked',
    'close',
    'a',
    '',
    ' 7 ',
    '65537',
    'a\rb',
    'a\nb',
    'a\0b',
  );
  const field = fc.tuple(name, value);

  test('is given only where every reading of the fields is the same', () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 4 }), (fields) => {
        const head = `GET / HTTP/1.1\r\nHost: a\r\n${fields.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`;
        const of = (wanted: string) =>
          fields.filter(([n]) => n.trim().toLowerCase() === wanted).map(([, v]) => v.trim());
        const lengths = of('content-length');
        const isPlain =
          fields.every(([n, v]) => !n.includes(' ') && !/[\r\n\0]/.test(v)) &&
          of('host').length === 0 &&
          of('transfer-encoding').length === 0 &&
          lengths.length <= 1 &&
          lengths.every((length) => /^\d+$/.test(length) && Number(length) <= 65_536);
        const frame = frameOf(head, LIMITS);
        if (!isPlain) {
          expect(frame).toBeString();
          return;
        }
        expect(frame).toEqual({
          bodyBytes: Number(lengths[0] ?? 0),
          isHead: false,
          isLast: of('connection').some((v) => v === 'close'),
        });
      }),
      { numRuns: 2000 },
    );
  });

  test('is the same whatever blanks stand around a value, and within it', () => {
    const blank = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 6 });
    fc.assert(
      fc.property(blank, blank, blank, (before, within, behind) => {
        const head = (...fields: string[]) => `GET / HTTP/1.1\r\nHost: a\r\n${fields.join('\r\n')}\r\n\r\n`;
        const of = (...fields: string[]) => frameOf(head(...fields), LIMITS);
        expect(of(`Content-Length:${before}7${behind}`)).toMatchObject({ bodyBytes: 7 });
        expect(of(`Connection:${before}a${within},${within}close${behind}`)).toMatchObject({ isLast: true });
        expect(of(`Connection:${before}a${within}${behind}`)).toMatchObject({ isLast: false });
        expect(of(`Content-Length:${before}7${within}7${behind}`)).toEqual(
          within === '' ? expect.objectContaining({ bodyBytes: 77 }) : 'malformed-request',
        );
        // No blank of a header, but one for whoever trims.
        expect(of(`Content-Length:${before}7\u00a0${behind}`)).toBe('malformed-request');
      }),
    );
  });

  test('is found in one go over a head, whatever blanks stand in it', () => {
    const script = `
      import { frameOf } from ${JSON.stringify(join(import.meta.dir, '../../src/http/message-framing.ts'))};
      const head = "GET / HTTP/1.1\\r\\nHost: a\\r\\nConnection: a" + " ".repeat(4_000_000) + "b\\r\\n\\r\\n";
      console.log(JSON.stringify(frameOf(head, ${JSON.stringify(LIMITS)})));
    `;
    // The square of so many steps takes hours, and nothing else would end it.
    const { stdout } = Bun.spawnSync([process.execPath, '-e', script], { timeout: 60_000 });
    expect(JSON.parse(stdout.toString())).toEqual({ bodyBytes: 0, isHead: false, isLast: false });
  });
});
