import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { HAS_CEPH } from '../support/ceph.ts';
import { HAS_REDIS } from '../support/redis.ts';
import { lackingFor } from './node-proxy.ts';

const IS_POSSIBLE =
  HAS_CEPH && HAS_REDIS && (['haproxy', 'nginx'] as const).some((name) => lackingFor(name) === undefined);

test.skipIf(!IS_POSSIBLE)(
  'make cluster shows all programs, kills those whose keys are pressed, and starts them again (needs Ceph, Redis, and HAProxy or nginx)',
  async () => {
    const command = [process.execPath, join(import.meta.dir, 'shown.ts')];
    const child = Bun.spawn(command, { stdio: ['pipe', 'pipe', 'inherit'] });
    const texts = child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    const press = async (key: string) => {
      child.stdin.write(key);
      await child.stdin.flush();
    };
    /** Reads until the lines after now match. */
    const shows = async (pattern: RegExp) => {
      for (let text = ''; !pattern.test(text); ) {
        const { value, done } = await texts.next();
        if (done === true) throw new Error(`it ended before ${pattern}: ${text}`);
        text += value;
      }
    };
    await shows(
      /^[1-9]\d* answers, 0 failures\nhome +requests .*\nnode1 +requests .*\nnode2 .*\nnode3 .*\nredis +runs$/m,
    );
    for (const [key, name] of [
      ['1', 'node1'],
      ['r', 'redis'],
      ['h', 'home'],
    ] as const) {
      await press(key);
      await shows(new RegExp(`^${name} +does not run$`, 'm'));
      await press(key);
      await shows(new RegExp(`^${name} +r(equests|uns)`, 'm'));
    }
    await press('q');
    const rest = (async () => {
      while ((await texts.next()).done !== true);
    })();
    expect(await child.exited).toBe(0);
    await rest;
  },
);
