import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ByteLine, LINE_BYTES_MAX, type Line, visitLines } from '../../../src/import/parse/lines.ts';

const RUNS = { seed: 20_260_416, numRuns: 300 };

/** Chunks of a stream that reuses one buffer: the next chunk overwrites the one before. */
async function* fleeting(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(bytes.length);
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  for (let i = 1; i < edges.length; i += 1) {
    const part = bytes.subarray(edges[i - 1]!, edges[i]!);
    buffer.set(part);
    yield buffer.subarray(0, part.length);
    buffer.fill(0x78);
  }
}

const piece = fc.oneof(
  fc.constantFrom('\n', '\n', '\r\n', ' ', '\t', 'a', 'line', 'é', '€', '{"a":1}', '\ufeff'),
  fc.string({ maxLength: 20 }),
);
const input = fc.tuple(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(), { maxLength: 12 }));

/** The expected lines of a text. */
function expectedOf(text: string): { number: number; text: string }[] {
  return text
    .split('\n')
    .map((line, i) => ({ number: i + 1, text: line }))
    .filter((line) => /[^ \t\r]/.test(line.text))
    .map((line) => ({ ...line, text: line.text.replace(/^\ufeff/, '') }));
}

const contentOf = (line: Line) => ({ number: line.number, text: line.text() });

describe('the lines of a stream', () => {
  test('are those of its text for any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(input, async ([pieces, cuts]) => {
        const text = pieces.join('');
        const bytes = Buffer.from(text);
        const visited: unknown[] = [];
        await visitLines(fleeting(bytes, cuts), (line) => visited.push(contentOf(line)));
        expect(visited).toEqual(expectedOf(text));
      }),
      RUNS,
    );
  });

  test('have their bytes between start and end when they are visited', async () => {
    await fc.assert(
      fc.asyncProperty(input, async ([pieces, cuts]) => {
        const bytes = Buffer.from(pieces.join(''));
        const visited: string[] = [];
        const visit = (line: ByteLine) => visited.push(Buffer.from(line.bytes.slice(line.start, line.end)).toString());
        await visitLines(fleeting(bytes, cuts), visit);
        expect(visited).toEqual(
          bytes
            .toString()
            .split('\n')
            .filter((line) => /[^ \t\r]/.test(line)),
        );
      }),
      RUNS,
    );
  });
});

describe('a line that is too long', () => {
  const long = Buffer.alloc(LINE_BYTES_MAX + 1, 'x');

  test.each<[string, number[]]>([
    ['in one chunk', []],
    ['in several', [1, LINE_BYTES_MAX - 5, LINE_BYTES_MAX]],
  ])('is refused, has no bytes, and the others are read, %s', async (_, cuts) => {
    const bytes = Buffer.concat([Buffer.from('a\n'), long, Buffer.from('\nb\n'), long.subarray(0, LINE_BYTES_MAX)]);
    const lines: [number, number, string][] = [];
    await visitLines(fleeting(bytes, cuts), (line) => {
      const text = (() => {
        try {
          return line.text().slice(0, 5);
        } catch (error) {
          return String(error);
        }
      })();
      lines.push([line.number, line.end - line.start, text]);
    });
    expect(lines).toEqual([
      [1, 1, 'a'],
      [2, 0, `DomainError: the line is longer than ${LINE_BYTES_MAX} bytes`],
      [3, 1, 'b'],
      [4, LINE_BYTES_MAX, 'xxxxx'],
    ]);
  });
});

test('getting the text of a line that is not UTF-8 throws, and the next line is read', async () => {
  const bytes = Buffer.concat([Buffer.from('a'), Buffer.from([0xff]), Buffer.from('\nb')]);
  const texts: string[] = [];
  await visitLines(fleeting(bytes, []), (line) => {
    if (line.number === 1) expect(() => line.text()).toThrow('the line is not UTF-8');
    else texts.push(line.text());
  });
  expect(texts).toEqual(['b']);
});
