import type { Agreement, Contender } from './contender.ts';
import type { Kind } from './corpus.ts';

/** Number of compared answers of each kind; the paths are in random order. */
export const SAMPLES = 24;
const CURSOR = /"nextCursor":"[^"]+"\}$/;

/** Throws unless every contender's answers agree with the first one's, to the degree of its `agreement`. */
export async function requireAgreement(contenders: readonly Contender[], kinds: readonly Kind[]): Promise<void> {
  const [model, ...others] = contenders;
  for (const kind of kinds) {
    for (let index = 0; index < Math.min(SAMPLES, kind.paths.length); index += 1) {
      const expected = await answerOf(model!, kind, index);
      const { data } = JSON.parse(expected) as { data: unknown[] };
      if (data.length < kind.recordsMin) throw new Error(`an empty answer: ${kind.paths[index]}`);
      for (const contender of others) {
        if (agrees(expected, await answerOf(contender, kind, index), contender.agreement)) continue;
        throw new Error(`${contender.name} answers differently from ${model!.name}: ${kind.paths[index]}`);
      }
    }
  }
}

/** Returns true if `answer` agrees with `expected`. */
export function agrees(expected: string, answer: string, agreement: Agreement): boolean {
  if (agreement === 'bytes') return answer === expected;
  const [one, other] = [expected, answer].map((text) => text.replace(CURSOR, '"nextCursor":"…"}'));
  return Bun.deepEquals(JSON.parse(one!), JSON.parse(other!), true);
}

async function answerOf(contender: Contender, kind: Kind, index: number): Promise<string> {
  const { path, headers } = contender.ask(kind, index);
  const answer = await fetch(`${contender.origin}${path}`, { headers: { ...headers, 'accept-encoding': 'identity' } });
  if (answer.status !== 200) throw new Error(`${contender.name} answers ${answer.status} to ${path}`);
  return await answer.text();
}
