import type { AnyElysia, Context, Handler } from 'elysia';

/** Answers an error that no hook of the framework gets. */
type AnswerOf = (error: unknown, context: Context) => Response;

/**
 * Lets the framework call the handlers of a plugin, and the hooks before them, without `await`. It awaits every function in whose
 * text it finds something like `return f(`, which takes three promises for each request. Where a handler returns a promise,
 * `answerOf` answers its error in place of `onError`.
 */
export function callAtOnce({ routes }: AnyElysia, answerOf: AnswerOf): void {
  for (const route of routes) {
    const { handler, hooks } = route;
    callHooksAtOnce([hooks.transform ?? []].flat());
    const isAsync = handler.constructor.name === 'AsyncFunction';
    if (!isAsync) route.handler = handlerAtOnce(handler, answerOf);
  }
}

/** The same for hooks, none of which returns a promise. */
export function callHooksAtOnce(hooks: AnyElysia['event']['request'] = []): void {
  for (const hook of hooks) hook.isAsync = false;
}

function handlerAtOnce(handler: Handler, answerOf: AnswerOf): Handler {
  const call: Handler = (context) => {
    const answer: unknown = handler(context);
    return answer instanceof Promise ? answer.catch((error) => answerOf(error, context)) : answer;
  };
  // The framework finds nothing in the text of a bound function.
  return call.bind(undefined);
}
