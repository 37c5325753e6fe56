import answers from './examples.json';
import type { Json, JsonObject } from './schema.ts';

/**
 * What the service answered to the requests of the examples, over the simulated recordings that are part of the program:
 * by status and request. `make examples` asks again; a test holds them against a live service.
 */
const ANSWERS: Readonly<Record<string, Json>> = answers;

/** Levels of a side that examples show. */
export const EXAMPLE_LEVELS_MAX = 3;
/** Lines of a text that examples show. */
export const EXAMPLE_LINES_MAX = 6;

/** Under which an answer is kept. */
export function exampleKey(status: number, request: string): string {
  return `${status} ${request}`;
}

/** Named examples for a media type; what was never asked for has none. `requests` are paths with queries, by name. */
export function examplesOf(status: number, requests: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(requests).flatMap(([name, request]) => {
      const value = ANSWERS[exampleKey(status, request)];
      return value === undefined ? [] : [[name, { summary: `GET ${request}`, value }]];
    }),
  );
}
