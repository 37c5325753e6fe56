import { expect, test } from 'bun:test';
import { VersionedCache } from '../../src/store/versioned-cache.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';
import { marketStatement } from '../support/markets.ts';

test('a result is cached until the archive changes, and the number of results is limited', () => {
  using held = temporaryArchive();
  const { database, markets } = held.archive;
  const cache = new VersionedCache<string>(database, 3);
  /** The keys of all look-ups. */
  const looked = (...keys: readonly string[]) =>
    database.readShared(() => {
      const missed: string[] = [];
      for (const key of keys) {
        const found = cache.find(key, () => {
          missed.push(key);
          return key === 'none' ? undefined : key;
        });
        expect(found).toBe(key === 'none' ? undefined : key);
      }
      return missed.join(' ');
    });
  expect(looked('a', 'b', 'c', 'none')).toBe('a b c none');
  expect(looked('a', 'b', 'c', 'none')).toBe('none');
  // One result more than the maximum replaces all others.
  expect(looked('d', 'd', 'a', 'b', 'c')).toBe('d a b c');
  database.write(() => markets.put(marketStatement(1), NOW_MS));
  expect(looked('c', 'c')).toBe('c');
  // Outside of a shared view nothing says which state a look-up shows.
  expect(database.read(() => cache.find('c', () => 'another'))).toBe('another');
});
