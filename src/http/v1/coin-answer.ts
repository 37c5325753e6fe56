import type { InstantMs } from '../../domain/instant.ts';
import { failingForGood } from '../../domain/steps.ts';
import { negotiate } from '../response/responder.ts';
import type { Exchange } from '../response/response.ts';
import type { ControllerDeps } from './controller.ts';

/**
 * Answers about a coin with `{data}`, which `stepsOf` makes in steps of a few milliseconds: other requests have their turn between them,
 * and each step has a view of its own. If the first step is the last one, the answer is made at once.
 */
export function answerAboutCoin(
  { archive: { database }, lookup, responder, nextTurn }: ControllerDeps,
  exchange: Exchange,
  coinText: string,
  asOfMs: InstantMs | undefined,
  stepsOf: (coin: string) => Iterator<void, readonly object[]>,
): Response | Promise<Response> {
  return database.readShared(() => {
    const coin = lookup.coin(coinText, asOfMs);
    const negotiated = negotiate(exchange);
    const cached = responder.cached(negotiated);
    if (cached !== undefined) return cached;
    const { state } = database;
    const give = (data: readonly object[]) =>
      responder.respond(responder.encode({ data }, negotiated.format), negotiated, undefined, state);
    const steps = failingForGood(stepsOf(coin));
    const first = steps.next();
    if (first.done === true) return give(first.value);
    const rest = async () => {
      for (;;) {
        await nextTurn(exchange.keyId);
        const step = database.readShared(() => steps.next());
        if (step.done === true) return await database.readShared(() => give(step.value));
      }
    };
    return rest();
  });
}
