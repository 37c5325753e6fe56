import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { generateKey, generateKeyId, isWellFormedKey, publicPrefix } from '../../src/domain/api-key.ts';

const RUNS = { seed: 20260416, numRuns: 2000 };
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

test('a new key has the shape and the checksum of one', () => {
  for (let i = 0; i < 200; i += 1) {
    const key = generateKey();
    expect(key).toMatch(/^br_live_[a-z2-7]{47}$/);
    expect(isWellFormedKey(key)).toBe(true);
  }
});

test('forty characters of a key are drawn evenly from thirty-two: 200 random bits', () => {
  const keys = Array.from({ length: 3200 }, generateKey);
  expect(new Set(keys.map((key) => key.slice(0, 48))).size).toBe(keys.length);
  for (let at = 8; at < 48; at += 1) {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key[at]!, (counts.get(key[at]!) ?? 0) + 1);
    expect([...counts.keys()].sort().join('')).toBe([...ALPHABET].sort().join(''));
    // 100 are expected, the deviation is 10: seven of it away is no accident.
    for (const count of counts.values()) expect(Math.abs(count - 100)).toBeLessThan(70);
  }
});

test('a key with any one character changed is refused', () => {
  const key = generateKey();
  for (let at = 0; at < key.length; at += 1) {
    for (const character of `${ALPHABET}ABCXYZ0189_-= `) {
      if (character === key[at]) continue;
      expect(isWellFormedKey(key.slice(0, at) + character + key.slice(at + 1))).toBe(false);
    }
  }
});

test('a key with two neighbouring characters swapped is refused', () => {
  const key = generateKey();
  for (let at = 0; at + 1 < key.length; at += 1) {
    if (key[at] === key[at + 1]) continue;
    const swapped = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
    expect(isWellFormedKey(swapped)).toBe(false);
  }
});

describe('junk is refused', () => {
  const key = generateKey();
  test.each([
    ['nothing', ''],
    ['a blank in front', ` ${key}`],
    ['a blank behind', `${key} `],
    ['a newline behind', `${key}\n`],
    ['upper case', key.toUpperCase()],
    ['one character less', key.slice(0, -1)],
    ['one character more', `${key}a`],
    ['the key twice', key + key],
    ['another prefix', key.replace('br_live_', 'br_test_')],
    ['no prefix', key.slice(8)],
    ['quotes', `"${key}"`],
    ['a NUL', `${key.slice(0, -1)}\0`],
  ])('%s', (_, text) => {
    expect(isWellFormedKey(text)).toBe(false);
  });

  test('any text, and any text of the shape', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^br_live_[a-z2-7]{47}$/)), (text) => {
        expect(isWellFormedKey(text)).toBe(false);
      }),
      RUNS,
    );
  });
});

test('what may be shown of a key is its prefix and six characters', () => {
  const key = generateKey();
  expect(publicPrefix(key)).toBe(key.slice(0, 14));
  expect(publicPrefix(key)).toMatch(/^br_live_[a-z2-7]{6}$/);
});

test('key ids are short, and do not repeat', () => {
  const ids = Array.from({ length: 2000 }, generateKeyId);
  for (const id of ids) expect(id).toMatch(/^key_[a-z2-7]{10}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
