import type { DocumentDecoration } from 'elysia';
import { type TSchema, Type } from 'typebox';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { CURSOR_SHAPE } from '../parameters/query.ts';
import { headersNamed } from './headers.ts';
import type { RefusalName } from './refusals.ts';

/** What the API document says of a route, in addition to its parameters. */
export interface Description {
  readonly summary: string;
  readonly description: string;
  readonly tag: 'markets' | 'books' | 'prices' | 'account' | 'service' | 'replays';
  /** What the answer holds, by media type; undefined: bytes that are no JSON model. */
  readonly content?: Readonly<Record<string, TSchema | undefined>> | undefined;
  /** Headers of the answer in addition to those of every answer. */
  readonly headers: readonly string[];
  /**
   * Requests that get a 200, by name: paths with queries. Their parameters are the examples of the parameters, and what is
   * answered those of the answer. Of JSON and text.
   */
  readonly examples?: Readonly<Record<string, string>>;
  /** 200 if left out. */
  readonly status?: number;
  readonly answer?: string;
  /** Descriptions of the same answer with other statuses. */
  readonly alsoAnswers?: Readonly<Record<number, string>>;
  readonly body?: { readonly required: boolean; readonly schema: TSchema };
  /** Left out: those that every route of its kind may get. */
  readonly refusals?: readonly RefusalName[];
}

/** Fields of a route's description that the finished document has in other forms. */
export const REQUESTS = 'x-requests';
export const REFUSED = 'x-refused';

export const DOCUMENT_HEADERS = ['Vary', 'Cache-Control', 'Content-Encoding'];
export const TIMED_HEADERS = [...DOCUMENT_HEADERS, 'X-Bookreel-Warning'];
export const MARKET_HEADERS = [...TIMED_HEADERS, 'ETag'];
export const FILE_HEADERS = ['Cache-Control', 'Content-Security-Policy'];
export const PAGE_HEADERS = [...FILE_HEADERS, 'Referrer-Policy', 'Cross-Origin-Opener-Policy'];

export const TIES = 'Records ascend by (timestamp, id); order=desc turns them round. from and to are both inclusive.';
export const PAGED =
  'Repeat the request with cursor = nextCursor until that is null; from, to, outcome, order and interval stay the same.';
export const TIMES = 'from and to are both inclusive and narrow the records, and the gaps that reach into that time.';
/** Of the simulated recordings, for examples. */
export const EXAMPLE_MARKET = '/v1/btc/markets/0x51301a7ed09337c50fa1c946ad8013953f71f5dd6e51b7bc5621f86409cb52c1';
export const EXAMPLE_MARKET_WITH_GAP =
  '/v1/btc/markets/0x51301a7ed0da3a631a64d46e375a7e711a87a11d4328f1cb02a1b26570bf3f1c';
const EXAMPLE_WINDOW = 'from=1767868300000&to=2026-01-08T10:32:30Z';

export const Text = Type.String();
const CURSOR = Type.String({ pattern: CURSOR_SHAPE.source });

/** The `detail` of a route. Typed for OpenAPI 3.0, of which 3.1 is an extension in all that is used here. */
export function described(
  operationId: string,
  { tag, summary, description, ...rest }: Description,
): DocumentDecoration {
  const { content, headers, examples = {}, status = 200, body, refusals } = rest;
  const answers = { [status]: rest.answer ?? 'The answer.', ...rest.alsoAnswers };
  const schemaOf = (schema: TSchema | undefined) => (schema === undefined ? {} : { schema });
  const media = Object.entries(content ?? {}).map(([type, schema]) => [type, schemaOf(schema)]);
  const responseOf = (answer: string) => ({
    description: answer,
    headers: headersNamed(headers),
    ...(content === undefined ? {} : { content: Object.fromEntries(media) }),
  });
  const jsonBody = body && { required: body.required, content: { 'application/json': schemaOf(body.schema) } };
  const detail = {
    operationId,
    summary,
    description,
    tags: [tag],
    ...(jsonBody === undefined ? {} : { requestBody: jsonBody }),
    responses: Object.fromEntries(Object.entries(answers).map(([code, text]) => [code, responseOf(text)])),
    [REQUESTS]: examples,
    ...(refusals === undefined ? {} : { [REFUSED]: refusals }),
  };
  return detail as DocumentDecoration;
}

/** An answer of /v1: what JSON says, msgpack says as well. */
export function packable(answer: TSchema): NonNullable<Description['content']> {
  return { 'application/json': answer, 'application/msgpack': answer };
}

export function dataOf($id: string, description: string, data: TSchema) {
  return Type.Object({ data }, { $id, description });
}

export function listOf(resource: TSchema, maxItems: number) {
  return Type.Array(resource, { maxItems, description: 'The records, in the order asked for.' });
}

export function orNull(schema: TSchema, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}

/** A page of a time series. */
export function pageSchema($id: string, resource: TSchema) {
  return Type.Object(
    {
      data: listOf(resource, PAGE_LIMIT_MAX),
      nextCursor: orNull(CURSOR, 'For the next page; null: this was the last one.'),
    },
    { $id, description: 'A page of a time series.' },
  );
}

/** Examples of a path that answers pages. */
export function examplesOfPages(path: string, selection: string, cursor: string): NonNullable<Description['examples']> {
  const firstPage = `${path}?${EXAMPLE_WINDOW}&${selection}`;
  return { firstPage, nextPage: `${firstPage}&cursor=${cursor}` };
}
