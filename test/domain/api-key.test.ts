import { expect, test } from 'bun:test';
import { crc32 } from 'node:zlib';
import { generateKey, generateKeyId, publicPrefix } from '../../src/domain/api-key.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

test('a new key has the documented form, and ends with the CRC-32 of the text before it', () => {
  for (let i = 0; i < 200; i += 1) {
    const key = generateKey();
    expect(key).toMatch(/^br_live_[a-z2-7]{47}$/);
    const checksum = [...key.slice(48)].reduce((sum, character) => sum * 32 + ALPHABET.indexOf(character), 0);
    expect(checksum).toBe(crc32(key.slice(0, 48)));
  }
});

test('forty characters of a key are drawn evenly from thirty-two: 200 random bits', () => {
  const keys = Array.from({ length: 3200 }, generateKey);
  expect(new Set(keys.map((key) => key.slice(0, 48))).size).toBe(keys.length);
  for (let at = 8; at < 48; at += 1) {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key[at]!, (counts.get(key[at]!) ?? 0) + 1);
    expect([...counts.keys()].sort().join('')).toBe([...ALPHABET].sort().join(''));
    // 100 are expected with a standard deviation of 10: seven deviations are not chance.
    for (const count of counts.values()) expect(Math.abs(count - 100)).toBeLessThan(70);
  }
});

test('the public part of a key is its prefix and six characters', () => {
  const key = generateKey();
  expect(publicPrefix(key)).toBe(key.slice(0, 14));
  expect(publicPrefix(key)).toMatch(/^br_live_[a-z2-7]{6}$/);
});

test('key ids are short, and do not repeat', () => {
  const ids = Array.from({ length: 2000 }, generateKeyId);
  for (const id of ids) expect(id).toMatch(/^key_[a-z2-7]{10}$/);
  expect(new Set(ids).size).toBe(ids.length);
});
