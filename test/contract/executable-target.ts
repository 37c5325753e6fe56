import { temporaryDirectory } from '../support/archive.ts';
import { EXECUTABLE, runExecutable, startServer } from '../support/executable.ts';
import { operatorOf } from './operator.ts';
import type { Target } from './target.ts';

/**
 * The compiled executable serves a separate data directory; its commands do everything else. `isSealed`: the command `seal` runs after each
 * import. `args`: of `serve`.
 */
export async function openExecutable(
  records: readonly object[],
  executable = EXECUTABLE,
  isSealed = false,
  args: readonly string[] = [],
): Promise<Target> {
  const directory = temporaryDirectory();
  const data = directory.path;
  const run = async (words: readonly string[], stdin?: string | Uint8Array) => {
    const options = stdin === undefined ? { executable } : { executable, stdin };
    const { code, stdout, stderr } = await runExecutable([...words, '--data', data, '--json'], options);
    if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  const operator = operatorOf(async (words, stdin) => {
    const output = await run(words, stdin);
    if (isSealed && words[0] === 'import') await run(['seal', '--before', '1h']);
    return output;
  });
  await operator.importRecords(records);
  const server = await startServer(data, args, executable);
  return {
    origin: server.origin,
    ...operator,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      directory[Symbol.dispose]();
    },
  };
}
