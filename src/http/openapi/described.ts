import type { DocumentDecoration } from 'elysia';
import { type TSchema, Type } from 'typebox';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { CURSOR_SHAPE } from '../parameters/query.ts';
import { bodyExamplesOf } from './examples.ts';
import { headersNamed } from './headers.ts';
import type { RefusalName } from './refusals.ts';

/** A route's part of the API document, in addition to its parameters and to the parts that docs/openapi.ts adds by rule. */
export interface Description {
  readonly summary: string;
  readonly description: string;
  /** The schema of the answer as JSON. Routes with a grant also send it as msgpack. */
  readonly answer?: TSchema | undefined;
  /** Other media types of the answer. Undefined: bytes without a schema. */
  readonly content?: Readonly<Record<string, TSchema | undefined>>;
  /** Headers of the answer that no rule adds (headers.ts). */
  readonly headers?: readonly string[];
  /**
   * Paths with queries, by name, after `POST ` if that is the method. The document shows their parameters as examples of the parameters, and their answers, which
   * have status 200, as examples of the answer.
   */
  readonly examples?: Readonly<Record<string, string>>;
  /** Descriptions of the answer, by status. Left out: 200 only. */
  readonly answers?: Readonly<Record<number, string>>;
  /** Schemas of answers that differ from `answer`, by status. */
  readonly otherAnswers?: Readonly<Record<number, TSchema>>;
  readonly body?: { readonly required: boolean; readonly schema: TSchema };
  /** Left out: the rule in refusals.ts. */
  readonly refusals?: readonly RefusalName[];
}

/** Fields of a route's `detail` that docs/openapi.ts replaces. */
export const REQUESTS = 'x-requests';
export const REFUSED = 'x-refused';

export const FILE_HEADERS = ['Cache-Control', 'Content-Security-Policy'];
export const PAGE_HEADERS = [...FILE_HEADERS, 'Referrer-Policy', 'Cross-Origin-Opener-Policy'];

export const Text = Type.String();
const CURSOR = Type.String({ pattern: CURSOR_SHAPE.source });
const EXAMPLE_WINDOW = 'from=1767868300000&to=2026-01-08T10:32:30Z';

/** The `detail` of a route. Typed for OpenAPI 3.0; 3.1 extends everything that is used here. */
export function described(operationId: string, description: Description): DocumentDecoration {
  const { answer, content, headers = [], examples = {}, answers, otherAnswers, body, refusals, ...texts } = description;
  const types = { ...(answer && { 'application/json': answer }), ...content };
  const media = Object.entries(types).map(([type, schema]) => [type, schema === undefined ? {} : { schema }]);
  const response = {
    headers: headersNamed(headers),
    ...(media.length > 0 && { content: Object.fromEntries(media) }),
  };
  const responses = Object.entries(answers ?? { 200: 'The answer.' }).map(([status, text]) => [
    status,
    { description: text, ...response, ...otherContent(otherAnswers?.[Number(status)]) },
  ]);
  const detail = {
    operationId,
    ...texts,
    ...(body && {
      requestBody: {
        required: body.required,
        content: { 'application/json': { schema: body.schema, ...bodyExamplesOf(examples) } },
      },
    }),
    responses: Object.fromEntries(responses),
    [REQUESTS]: examples,
    ...(refusals && { [REFUSED]: refusals }),
  };
  return detail as DocumentDecoration;
}

function otherContent(schema: TSchema | undefined) {
  return schema && { content: { 'application/json': { schema } } };
}

/** A path that sends a time series in pages, and the example requests for its first two pages. */
interface PagesDescription {
  readonly summary: string;
  /** The records; the rules of all series follow. */
  readonly description: string;
  /** The path with a selection of records: the start of a query. */
  readonly firstPage: readonly [path: string, selection: string];
  readonly cursor: string;
}

/** The `detail` of a route that sends a time series in pages. `$id` names the schema of a page. */
export function describedPages(
  operationId: string,
  $id: string,
  resource: TSchema,
  { summary, description, firstPage: [path, selection], cursor }: PagesDescription,
): DocumentDecoration {
  const firstPage = `${path}?${EXAMPLE_WINDOW}&${selection}`;
  return described(operationId, {
    summary,
    description: `${description} Records ascend by (timestamp, id); order=desc reverses them. from and to are inclusive. To get the next page, repeat the request with cursor = nextCursor until nextCursor is null; keep from, to, outcome, order and interval the same.`,
    answer: Type.Object(
      {
        data: listOf(resource, PAGE_LIMIT_MAX),
        nextCursor: orNull(CURSOR, 'The cursor of the next page; null on the last page.'),
      },
      { $id, description: 'A page of a time series.' },
    ),
    examples: { firstPage, nextPage: `${firstPage}&cursor=${cursor}` },
  });
}

export function dataOf($id: string, description: string, data: TSchema) {
  return Type.Object({ data }, { $id, description });
}

export function listOf(resource: TSchema, maxItems: number, description = 'The records, in the requested order.') {
  return Type.Array(resource, { maxItems, description });
}

export function orNull<T extends TSchema>(schema: T, description: string) {
  return Type.Union([schema, Type.Null()], { description });
}

export function oneOf<T extends string>(words: readonly T[], description: string) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    { description },
  );
}
