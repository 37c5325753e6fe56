import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { machineClock } from '../../src/cli/machine-clock.ts';
import { BUN } from '../support/executable.ts';

const MODULE = join(import.meta.dir, '..', '..', 'src', 'cli', 'machine-clock.ts');

test.skipIf(process.platform !== 'linux')(
  'Processes that were started at different times read one clock.',
  async () => {
    const clock = machineClock();
    const read = async () => {
      const script = `import { machineClock } from '${MODULE}'; console.log(machineClock()());`;
      const child = Bun.spawn([...BUN, '-e', script], { stdout: 'pipe' });
      return Number(await new Response(child.stdout).text());
    };
    for (let reading = 0; reading < 3; reading += 1) {
      const before = clock();
      const other = await read();
      expect(other).toBeGreaterThanOrEqual(before);
      expect(other).toBeLessThanOrEqual(clock() + 1);
      await Bun.sleep(300);
    }
  },
);
