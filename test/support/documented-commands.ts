import { expect } from 'bun:test';
import { join } from 'node:path';
import { type Child, startChild } from './child.ts';
import { finished } from './executable.ts';

/** A fenced block of a page, with its language. */
interface Block {
  readonly language: string;
  readonly text: string;
  /** Whether nothing is between it and the block before. */
  readonly isAnswer: boolean;
}

export interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The ports that the page names, each with the one that is used in its place. */
  readonly ports: Readonly<Record<string, number>>;
}

/** Commands that run until they are stopped; the page says that the reader uses another terminal. */
const SERVERS = /^(?:make run|(?:dist\/)?bookreel (?:serve|replay)(?: --.*)?)$/;
/** The last line that a server prints when it listens. */
const READY = /^curl .*\n/m;

export function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(({ index, 1: language, 2: text }) => ({
    language: language!,
    text: language === 'sh' ? oneLined(text!) : text!,
    isAnswer: markdown.slice(0, index).endsWith('```\n\n'),
  }));
}

/** Each command as one line: a backslash at the end of a line continues it. */
export function oneLined(commands: string): string {
  return commands.replaceAll(/\\\n\s*/g, '');
}

/**
 * Runs the `sh` blocks of a page as they are, in their order, in one directory, which is `HOME` as well. Variables stay from
 * block to block, and servers run until the page ends. Every command must succeed. A `text` or `json` block directly after it
 * is its output: text line by line, where `…` matches anything, JSON by value. Returns the number of blocks that ran.
 */
export async function runBlocks(markdown: string, { cwd, env, ports }: Place): Promise<number> {
  const blocks = blocksOf(
    Object.entries(ports).reduce(
      (page, [named, used]) => page.replaceAll(`127.0.0.1:${named}`, `127.0.0.1:${used}`),
      markdown,
    ),
  );
  const kept = join(cwd, '.variables');
  await Bun.write(kept, '');
  // An answer that is an error fails curl.
  await Bun.write(join(cwd, '.curlrc'), 'fail\n');
  const servers: Child[] = [];
  let ran = 0;
  try {
    for (const [index, { language, text }] of blocks.entries()) {
      if (language !== 'sh') continue;
      const lines = text.trim().split('\n');
      const server = SERVERS.test(lines.at(-1)!) ? lines.pop() : undefined;
      const script = `. '${kept}'\nset -ae\n${lines.join('\n')}\nexport -p >'${kept}'\n`;
      const { code, stdout, stderr } = await finished(['sh', '-c', script], { cwd, env });
      expect({ text, code, stderr: code === 0 ? '' : stderr }).toEqual({ text, code: 0, stderr: '' });
      let printed = stdout;
      if (server !== undefined) {
        const child = startChild(['sh', '-c', `. '${kept}'; exec ${server}`], { cwd, env });
        servers.push(child);
        await child.said(READY);
        printed += child.stdout();
      }
      ran += 1;
      const answer = blocks[index + 1]?.isAnswer === true ? blocks[index + 1] : undefined;
      if (answer?.language === 'json') expect(JSON.parse(printed)).toEqual(JSON.parse(answer.text));
      if (answer?.language === 'text') expect(printed).toMatch(shapeOf(answer.text));
    }
  } finally {
    for (const server of servers) {
      // `make run` passes this signal to its server; SIGKILL would end make only.
      server.kill('SIGTERM');
      await server.exited;
      await server[Symbol.asyncDispose]();
    }
  }
  return ran;
}

/** A line `…` matches any number of lines; before the first line a builder may print messages. */
function shapeOf(text: string): RegExp {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => {
      if (line === '…') return '[\\s\\S]*';
      const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return escaped.replaceAll('…', '.*');
    });
  return new RegExp(`(?:^|\\n)${lines.join('\\n')}\\n?$`);
}
