import { Database } from 'bun:sqlite';
import { expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { issueKey, startServer } from '../support/executable.ts';

/** A server stores usage once a minute. */
setDefaultTimeout(300_000);

test('a server stores usage while it runs, so kill -9 loses only the last minute', async () => {
  using directory = temporaryDirectory();
  const { key } = await issueKey(directory.path);
  await using server = await startServer(directory.path);
  const answer = await fetch(`${server.origin}/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  const stored = () => {
    using database = new Database(join(directory.path, 'activity.db'), { readonly: true });
    return database.query('SELECT requests FROM usage WHERE interval_ms = 3600000').all();
  };
  while (stored().length === 0) await Bun.sleep(500);
  await server.stop('SIGKILL');
  expect(stored()).toEqual([{ requests: 1 }]);
});
