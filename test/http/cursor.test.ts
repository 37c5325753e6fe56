import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { INSTANT_MAX_MS } from '../../src/domain/instant.ts';
import { decodeCursor, encodeCursor } from '../../src/http/v1/cursor.ts';

const RUNS = { seed: 20260416, numRuns: 1000 };
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const position = fc.record({ timestampMs: fc.integer({ min: 0, max: INSTANT_MAX_MS }), id: fc.maxSafeNat() });

test('a cursor is read in the scope that it was made for', () => {
  fc.assert(
    fc.property(position, fc.string(), (given, scope) => {
      const cursor = encodeCursor(given, scope);
      expect(cursor).toMatch(/^[A-Za-z0-9_-]{28}$/);
      expect(decodeCursor(cursor, scope)).toEqual(given);
    }),
    RUNS,
  );
});

test.each([
  { timestampMs: 0, id: 0 },
  { timestampMs: 0, id: 1 },
  { timestampMs: INSTANT_MAX_MS, id: Number.MAX_SAFE_INTEGER },
  { timestampMs: 1_776_323_404_123, id: 2 ** 48 - 1 },
  { timestampMs: 1_776_323_404_123, id: 2 ** 48 },
  { timestampMs: 1_776_323_404_123, id: 2 ** 32 },
])('the position %j survives', (given) => {
  expect(decodeCursor(encodeCursor(given, 'scope'), 'scope')).toEqual(given);
});

test('a cursor with any one character changed is refused', () => {
  const cursor = encodeCursor({ timestampMs: 1_776_323_404_123, id: 4711 }, 'scope');
  for (let at = 0; at < cursor.length; at += 1) {
    for (const character of ALPHABET) {
      if (character === cursor[at]) continue;
      expect(decodeCursor(cursor.slice(0, at) + character + cursor.slice(at + 1), 'scope')).toBeUndefined();
    }
  }
});

test('a cursor of one scope is refused in another', () => {
  fc.assert(
    fc.property(position, fc.string(), fc.string(), (given, scope, other) => {
      fc.pre(scope !== other);
      expect(decodeCursor(encodeCursor(given, scope), other)).toBeUndefined();
    }),
    RUNS,
  );
});

test('different positions or scopes have different cursors', () => {
  fc.assert(
    fc.property(fc.uniqueArray(position, { selector: (given) => `${given.timestampMs}/${given.id}` }), (positions) => {
      const cursors = positions.flatMap((given) => ['a', 'b'].map((scope) => encodeCursor(given, scope)));
      expect(new Set(cursors).size).toBe(positions.length * 2);
    }),
    { ...RUNS, numRuns: 100 },
  );
});

describe('other spellings of a cursor are refused', () => {
  const cursor = encodeCursor({ timestampMs: 1_776_323_404_123, id: 4711 }, 'scope');
  test.each([
    ['nothing', ''],
    ['padding', `${cursor}=`],
    ['a blank after', `${cursor} `],
    ['a newline after', `${cursor}\n`],
    ['a blank in front', ` ${cursor}`],
    ['percent signs', encodeURIComponent(`${cursor}=`)],
    ['one character less', cursor.slice(0, -1)],
    ['one character more', `${cursor}A`],
    ['twice', cursor + cursor],
    ['quotes', `"${cursor}"`],
    ['the standard alphabet', cursor.replace(/./, '+')],
  ])('%s', (_, text) => {
    expect(decodeCursor(text, 'scope')).toBeUndefined();
  });

  test('junk of the right shape', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{28}$/), (text) => {
        expect(decodeCursor(text, 'scope')).toBeUndefined();
      }),
      RUNS,
    );
  });
});
