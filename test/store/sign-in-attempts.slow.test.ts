import { expect, test } from 'bun:test';
import { deleteOldAttempts } from '../../src/store/sign-in-attempts.ts';
import { NOW_MS, temporaryArchive } from '../support/archive.ts';

const DAY_MS = 86_400_000;
const KEPT_MAX = 100_000;

test('Attempts to sign in are kept for a day, at most the newest 100,000.', () => {
  using held = temporaryArchive();
  const { database } = held.activity;
  const add = (rows: number, createdMs: number) =>
    database.write(() =>
      database
        .query<never, [number, number]>(
          `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2)
           INSERT INTO sign_in_attempts (attempt_id, method, is_mailed, created_ms)
           SELECT hex(randomblob(9)), 'email', 0, ?1 + n FROM numbers`,
        )
        .run(createdMs, rows),
    );
  const kept = () =>
    database.query<object, []>('SELECT COUNT(*) AS rows, MIN(created_ms) AS oldestMs FROM sign_in_attempts').get();
  add(3, NOW_MS - DAY_MS - 2);
  deleteOldAttempts(database, NOW_MS);
  expect(kept()).toEqual({ rows: 1, oldestMs: NOW_MS - DAY_MS + 1 });
  add(KEPT_MAX, NOW_MS - KEPT_MAX);
  deleteOldAttempts(database, NOW_MS);
  expect(kept()).toEqual({ rows: KEPT_MAX, oldestMs: NOW_MS - KEPT_MAX + 1 });
});
