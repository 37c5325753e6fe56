import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openInProcess } from '../contract/in-process-target.ts';
import { expectedSnapshots } from '../contract/oracle.ts';
import { BOOKS, RECORDS } from '../contract/recording.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { sized } from '../support/campaign-size.ts';
import { finished } from '../support/executable.ts';
import { installWheel, PYTHON } from './python.ts';

const EXPECTED = expectedSnapshots(BOOKS);
/** A minute of waiting begins after every ten pages. */
const PAGES = sized(14, 24);
const PAGE = Math.ceil(EXPECTED.length / PAGES);

test.skipIf(PYTHON === undefined)(
  'A walk with ten requests a minute gets every record, and is refused once a minute.',
  async () => {
    using directory = temporaryDirectory();
    const installed = await installWheel(directory.path);
    await using target = await openInProcess(RECORDS);
    const { key } = await target.makeKey('enterprise', { rpm: 10 });
    const statuses: number[] = [];
    await using proxy = Bun.serve({
      port: 0,
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const answer = await fetch(`${target.origin}${pathname}${search}`, {
          headers: request.headers,
          decompress: false,
        });
        statuses.push(answer.status);
        return answer;
      },
    });
    const env = { PATH: Bun.env.PATH!, PYTHONPATH: installed, BOOKREEL_URL: proxy.url.origin, BOOKREEL_KEY: key };
    const walk = join(import.meta.dir, '..', 'examples', 'walk.py');
    const { code, stdout, stderr } = await finished([PYTHON!, walk, 'btc', BOOKS.slug, String(PAGE)], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').slice(0, -1)).toEqual(EXPECTED.map(({ timestamp, id }) => `${timestamp} ${id}`));
    const pages = Math.ceil(EXPECTED.length / PAGE);
    expect(statuses.filter((status) => status === 200)).toHaveLength(pages);
    // A 429 that came again would be a wait that was too short.
    const limited = statuses.flatMap((status, nth) => (status === 429 ? [nth] : []));
    expect(limited).toEqual(Array.from({ length: Math.ceil(pages / 10) - 1 }, (_, window) => 11 * window + 10));
  },
  400_000,
);
