import { join } from 'node:path';

/** The command that runs this program with other words: the executable is its own main file; from sources Bun runs it. */
export function ownCommand(words: readonly string[]): string[] {
  const main = import.meta.dir.startsWith('/$bunfs') ? [] : [join(import.meta.dir, '..', 'main.ts')];
  return [process.execPath, ...main, ...words];
}

/** The whole lines that such a process writes. */
export async function* linesOf(output: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of output) {
    const lines = `${rest}${decoder.decode(bytes, { stream: true })}`.split('\n');
    rest = lines.pop()!;
    yield* lines;
  }
}
