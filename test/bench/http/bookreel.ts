import { startServer } from '../../support/executable.ts';
import type { Contender } from './contender.ts';
import type { HttpCorpus } from './corpus.ts';

/** The executable with every feature on; requests alternate between its keys, because each has a limit. */
export async function startBookreel({ data, keys }: HttpCorpus): Promise<Contender> {
  const server = await startServer(data);
  return {
    name: 'bookreel',
    origin: server.origin,
    agreement: 'bytes',
    ask: ({ paths }, index) => ({
      path: paths[index % paths.length]!,
      headers: { authorization: `Bearer ${keys[index % keys.length]}` },
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
