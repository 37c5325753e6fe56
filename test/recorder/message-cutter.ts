import type { SeededRandom } from '../../fixtures/random.ts';

interface Message {
  readonly price_changes?: readonly unknown[];
}

const TOGETHER_MAX = 4;

/** The same messages, in their order, in other arrays: some alone, some together, price changes with fewer entries. */
export function recut(texts: readonly string[], random: SeededRandom): string[] {
  const messages = texts
    .flatMap((text) => JSON.parse(text) as Message | Message[])
    .flatMap((message) => {
      if (message.price_changes === undefined || random.chance(0.5)) return [message];
      return message.price_changes.map((entry) => ({ ...message, price_changes: [entry] }));
    });
  const cut: string[] = [];
  for (let from = 0; from < messages.length; ) {
    const count = random.between(1, TOGETHER_MAX);
    const part = messages.slice(from, from + count);
    cut.push(JSON.stringify(part.length === 1 && random.chance(0.5) ? part[0] : part));
    from += count;
  }
  return cut;
}
