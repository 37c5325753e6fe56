import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { operatorOf } from './operator.ts';
import type { Target } from './target.ts';

/** The compiled executable serves a separate data directory; its commands do everything else. */
export async function openExecutable(records: readonly object[], executable = EXECUTABLE): Promise<Target> {
  const directory = temporaryDirectory();
  const data = directory.path;
  const operator = operatorOf(async (args, stdin) => {
    const options = stdin === undefined ? { executable } : { executable, stdin };
    const { code, stdout, stderr } = await runExecutable([...args, '--data', data, '--json'], options);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  });
  await operator.importRecords(records);
  const server = await startServer(data, [], executable);
  return {
    origin: server.origin,
    ...operator,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}
