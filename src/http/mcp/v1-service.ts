import type { CoverageResource } from '../../domain/coverage.ts';
import { type Fields, isFields, parsedJson } from '../../record/fields.ts';

/** The service that the tools read. They know it by its routes only, so keys, tiers, limits and errors are those of /v1. */
export interface V1Service {
  /** The origin of links; undefined: the service has no address. */
  readonly origin: string | undefined;
  /** Flags with which commands read the same recordings, each after a space. */
  readonly flags: string;
  /** Answers a request of /v1 with the key of the client. `path` has no origin. Throws Refusal without an answer. */
  readonly send: (path: string, init?: V1Init) => Response | Promise<Response>;
}
export interface V1Init {
  readonly method: string;
  readonly body?: string;
}

/** An error for the client of a tool: a sentence, that of the answer if /v1 refused a request. */
export class Refusal extends Error {
  /** That of the answer; undefined: there is none. */
  readonly status: number | undefined;

  constructor(sentence: string, status?: number) {
    super(sentence);
    this.status = status;
  }
}

/** `data` of the answer to a path, with its other fields. The type is that of the API document. Throws Refusal. */
export async function ask<T>({ send }: V1Service, path: string, init?: V1Init): Promise<Fields & { readonly data: T }> {
  const answer = await send(path, init);
  const document = parsedJson(await answer.text());
  if (answer.ok && isFields(document)) return document as Fields & { readonly data: T };
  const detail = isFields(document) && typeof document.detail === 'string' ? document.detail : undefined;
  throw new Refusal(detail ?? `the service answers with status ${answer.status}: is it bookreel?`, answer.status);
}

/** The path of a coin, or of a market of it, with a query. Parameters that are undefined are left out. Throws Refusal. */
export function v1Path(names: readonly unknown[], rest: string, parameters: Fields = {}): string {
  const [coin, market] = names.map((name) => {
    const part = encodeURIComponent(String(name));
    // URLs resolve dots.
    if (/^\.{0,2}$/.test(part))
      throw new Refusal(`'${part}' is no name of a coin or a market: find_markets lists them`);
    return part;
  });
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const query = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return `/v1/${coin}${market === undefined ? '' : `/markets/${market}`}${rest}${query && `?${query}`}`;
}

/**
 * The coverage of a market, and of its gaps those that touch the range of these times, ISO 8601 or Unix milliseconds (without any: all
 * gaps); or the sentence of its refusal.
 */
export async function rangeCoverage(
  service: V1Service,
  { coin, market, asOf }: Fields,
  times: readonly (string | number)[],
) {
  try {
    const { data } = await ask<CoverageResource>(service, v1Path([coin, market], '/coverage', { asOf }));
    const { recordedSeconds, windowSeconds, gapCount } = data;
    const range = times.length === 0 ? [-Infinity, Infinity] : times.map((time) => new Date(time).getTime());
    const [fromMs, toMs] = [Math.min(...range), Math.max(...range)];
    const gapsInRange = data.gaps.filter(({ from, to }) => Date.parse(from) <= toMs && Date.parse(to) >= fromMs);
    return { recordedSeconds, windowSeconds, gapCount, gapsInRange };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.message };
    throw error;
  }
}
