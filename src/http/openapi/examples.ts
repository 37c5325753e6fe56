import answers from './examples.json';
import type { Json, JsonObject } from './schema.ts';

/**
 * Answers of the service to the example requests, over the simulated recordings in the executable, by status and request.
 * `make examples` records them; a test compares them with a live service.
 */
const ANSWERS: Readonly<Record<string, Json>> = answers;

/** Markets of the simulated recordings. */
export const EXAMPLE_MARKET = '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1';
export const EXAMPLE_MARKET_WITH_GAP =
  '/v1/btc/markets/0x51301a7ed0da3a631a64d46e375a7e711a87a11d4328f1cb02a1b26570bf3f1c';

/** Maximum number of levels per side in an example. */
export const EXAMPLE_LEVELS_MAX = 3;
/** Maximum number of lines of text in an example. */
export const EXAMPLE_LINES_MAX = 6;

/** The recorded bodies of requests as the field `examples` of their media type; no field without one. */
export function bodyExamplesOf(requests: Readonly<Record<string, string>>): JsonObject {
  return shown(requests, bodyKey);
}

/** The recorded answer or body with a key. */
export function recordedAnswer(key: string): Json | undefined {
  return ANSWERS[key];
}

/** The key of a recorded request body. */
export function bodyKey(request: string): string {
  return `body of ${request}`;
}

/** The key of a recorded answer. */
export function exampleKey(status: number, request: string): string {
  return `${status} ${request}`;
}

/**
 * The field `examples` of a media type; no field if none of the requests has a recorded answer. `requests` are paths with
 * queries, after POST and a space if that is the method, by name.
 */
export function examplesOf(status: number, requests: Readonly<Record<string, string>>): JsonObject {
  return shown(requests, (request) => exampleKey(status, request));
}

function shown(requests: Readonly<Record<string, string>>, keyOf: (request: string) => string): JsonObject {
  const examples = Object.entries(requests).flatMap(([name, request]) => {
    const value = recordedAnswer(keyOf(request));
    const summary = request.startsWith('/') ? `GET ${request}` : request;
    return value === undefined ? [] : [[name, { summary, value }]];
  });
  return examples.length === 0 ? {} : { examples: Object.fromEntries(examples) };
}
