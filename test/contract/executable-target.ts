import { temporaryDirectory } from '../support/archive.ts';
import { runExecutable, startServer } from '../support/executable.ts';
import type { Target } from './target.ts';

/** The compiled executable serving a data directory of its own; everything else is done by its commands. */
export async function openExecutable(records: readonly object[]): Promise<Target> {
  const directory = temporaryDirectory();
  const data = directory.path;
  const run = async (args: readonly string[], stdin?: string): Promise<string> => {
    const options = stdin === undefined ? {} : { stdin };
    const { code, stdout, stderr } = await runExecutable([...args, '--data', data, '--json'], options);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  const importCleanly = async (late: readonly object[]) => {
    if (late.length === 0) return;
    const ndjson = late.map((record) => `${JSON.stringify(record)}\n`).join('');
    const report = JSON.parse(await run(['import', '-'], ndjson)) as { total: { stored: number } };
    if (report.total.stored !== late.length) throw new Error(`not all was stored: ${JSON.stringify(report)}`);
  };
  await importCleanly(records);
  const server = await startServer(data);
  return {
    origin: server.origin,
    async makeKey(tier, { rpm } = {}) {
      const limit = rpm === undefined ? [] : ['--rpm', String(rpm)];
      return JSON.parse(await run(['key', 'create', '--tier', tier, ...limit])) as { id: string; key: string };
    },
    async rotateKey(id) {
      return (JSON.parse(await run(['key', 'rotate', id])) as { key: string }).key;
    },
    async revokeKey(id) {
      await run(['key', 'revoke', id]);
    },
    async setTier(id, { rpm, coins, routes }) {
      await run([
        'tier',
        'set',
        id,
        ...(rpm === undefined ? [] : ['--rpm', String(rpm)]),
        ...(coins === undefined ? [] : ['--coins', coins?.join() ?? 'all']),
        ...(routes === undefined ? [] : ['--routes', routes?.join() ?? 'all']),
      ]);
    },
    importRecords: importCleanly,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}
