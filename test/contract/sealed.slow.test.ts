import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { importRecords, type TemporaryArchive, temporaryArchive } from '../support/archive.ts';
import { sealAll, sealedMarkets } from '../support/sealed.ts';
import { type Client, clientOf } from './client.ts';
import { serveInProcess } from './in-process-target.ts';
import { QUESTIONS } from './questions.ts';
import { RECORDS } from './recording.ts';
import { expectSamePages, shown } from './same-answers.ts';
import { AMPLE_RPM, type Target } from './target.ts';

setDefaultTimeout(120_000);

/** One archive twice, with the same ids and revisions: as it was imported, and sealed. */
const targets: Target[] = [];
let open: Client;
let sealed: Client;
beforeAll(async () => {
  const held = temporaryArchive();
  await importRecords(held.archive, RECORDS);
  held.archive.database.checkpoint();
  const copy: TemporaryArchive = temporaryArchive(held.path);
  expect(sealAll(copy.archive)).toBe(sealedMarkets(copy.archive).length);
  expect(sealedMarkets(copy.archive).length).toBeGreaterThan(3);
  targets.push(serveInProcess(held), serveInProcess(copy));
  const keys = await Promise.all(targets.map((target) => target.makeKey('enterprise', { rpm: AMPLE_RPM })));
  [open, sealed] = targets.map((target, i) => clientOf(target.origin, keys[i]!.key)) as [Client, Client];
});
afterAll(async () => {
  for (const target of targets) await target[Symbol.asyncDispose]();
});

test.each(['application/json', 'application/msgpack', 'text/csv'])(
  'Every answer as %s is the same of an archive before and after it is sealed: bytes, entity tags and other headers.',
  async (accept) => {
    for (const path of QUESTIONS) {
      const [before, after] = await Promise.all([open, sealed].map((get) => get(path, { headers: { accept } })));
      expect(shown(path, after!)).toEqual(shown(path, before!));
      const etag = before!.headers.get('etag');
      if (etag === null) continue;
      const again = await sealed(path, { headers: { accept, 'if-none-match': etag } });
      expect([path, again.status]).toEqual([path, 304]);
    }
  },
);

test('A cursor of an archive before it is sealed goes on in the sealed one, and the other way round.', async () => {
  await expectSamePages(open, sealed);
});
