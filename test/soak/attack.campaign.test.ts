import { afterAll, expect, test } from 'bun:test';
import { type Attack, noAttacks, underAttack } from './attack.ts';

const asked: string[] = [];
const timesAsked = (what: string) => asked.filter((each) => each === what).length;
const ANSWERED_COVERAGE = 5;

/** Answers like the service: exports that do not end, some answers about coverage, and refusals. */
const server = Bun.serve({
  port: 0,
  fetch: (request) => {
    const { pathname, search } = new URL(request.url);
    const key = request.headers.get('authorization')?.replace('Bearer ', '');
    asked.push(`${key}: ${pathname}${search}`);
    if (key === 'broken') return new Response('', { status: 500 });
    if (key === 'coverage') return new Response('', { status: coverageAsked() > ANSWERED_COVERAGE ? 429 : 200 });
    return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) }));
  },
});
const coverageAsked = () => asked.filter((each) => each.startsWith('coverage: ')).length;
afterAll(() => server.stop(true));

const ATTACK: Attack = {
  origin: server.url.origin,
  market: { path: '/m', firstMs: 0, lastMs: 1000 },
  keys: { reset: ['a', 'b'], unread: 'unread', coverage: 'coverage', slow: 'slow' },
  ...{ unreadExports: 3, coverageQuestions: 10, idleConnections: 20, slowConnections: 4 },
};

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5);
}

test('the attackers do all attacks at once until the work is done, and count them', async () => {
  const counts = noAttacks();
  const result = await underAttack(ATTACK, counts, async () => {
    for (const [what, times] of [
      ['a: /m/export?format=parquet', 10],
      ['b: /m/export?format=parquet', 10],
      ['unread: /m/export?format=ndjson', 3],
      ['slow: /m/snapshots?limit=1000', 2],
      // The questions of ten clients begin at the end of the market.
      ['coverage: /m/coverage?asOf=999', 1],
      ['coverage: /m/coverage?asOf=990', 1],
    ] as const) {
      await until(() => timesAsked(what) >= times);
    }
    return 'done';
  });
  expect(result).toBe('done');
  expect(counts).toMatchObject({ idleOpened: 20, idleClosed: 0, slowOpened: 4, wrong: [] });
  // Four clients of a key have one export each; the other ones were reset.
  expect(counts.exportsReset).toBeGreaterThanOrEqual(12);
  expect(timesAsked('unread: /m/export?format=ndjson')).toBe(3);
  await underAttack(ATTACK, counts, () => Promise.resolve());
  expect(counts.idleOpened).toBe(40);
});

test('an answer to the attackers that is neither right nor a refusal is stated', async () => {
  const counts = noAttacks();
  const attack = { ...ATTACK, keys: { ...ATTACK.keys, coverage: 'broken' } };
  const broken = () => asked.filter((each) => each.startsWith('broken: ')).length;
  // A client asks its next question when it has counted the answer.
  await underAttack(attack, counts, () => until(() => broken() > attack.coverageQuestions));
  expect(counts.wrong).toContain('coverage: 500');
});

test('attackers that cannot begin are an error', async () => {
  const attack = { ...ATTACK, origin: 'nowhere' };
  await expect(underAttack(attack, noAttacks(), () => Promise.resolve())).rejects.toThrow('the process ended');
});
