import { expect, test } from 'bun:test';
import { type Answers, Conversation } from '../../src/cli/conversation.ts';

/** Two sides of one connection; the first one asks. */
function connected(answers: Answers) {
  const failures: string[] = [];
  const asking: Conversation = new Conversation(
    (message) => answering.receive(message),
    {},
    () => undefined,
  );
  const answering: Conversation = new Conversation(
    (message) => asking.receive(message),
    answers,
    (question, error) => failures.push(`${question}: ${(error as Error).message}`),
  );
  return { asking, failures };
}

test('A question whose answer fails, at once or later, gets no answer; the side that answers says why and goes on.', async () => {
  const { asking, failures } = connected({
    flush: () => {
      throw new Error('the disk is full');
    },
    gather: async () => await Promise.reject(new Error('it has ended')),
    add: ([a, b]: [number, number]) => a + b,
  });
  expect(await asking.ask('flush')).toBeUndefined();
  expect(await asking.ask('gather')).toBeUndefined();
  expect(failures).toEqual(['flush: the disk is full', 'gather: it has ended']);
  expect(await asking.ask<number>('add', [1, 2])).toBe(3);
});
