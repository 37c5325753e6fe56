import { Type } from 'typebox';
import { REPLAYS_MAX } from '../../replay/replays.ts';
import { type Edition, openApiDocument } from '../docs/openapi.ts';
import { HEADERS, header, headersNamed, problem, refusalComponents } from '../docs/openapi-responses.ts';
import { type Json, type JsonObject, openApiSchema } from '../docs/openapi-schema.ts';
import { ReplayChange, ReplayRequest, ReplayResource } from './replay-resource.ts';

const INTRO = `A process that replays: everything is answered as at the instant of a clock, and nothing later is sent. Paths speak of the first replay; with /replays/{replay} in front they speak of another one. Those under /v1/replays list, create and steer replays; all others are read-only. Where others than this machine can connect every path under /v1 needs an API key, sent as Authorization: Bearer, whose tier grants replay; on loopback none does, and no X-RateLimit header is sent.

Beside what is described here it has the venue’s own paths (/ws/market, /book, /markets and so on) and those of tardis-machine (/replay, /replay-normalized, /ws-replay, /ws-replay-normalized), which their own documentation describes.`;

const ReplayList = Type.Object(
  {
    data: Type.Array(Type.Ref(ReplayResource.$id!), {
      maxItems: REPLAYS_MAX,
      description: 'In the order of creation.',
    }),
  },
  { $id: 'ReplayList', description: 'The replays of this process.' },
);
const ReplayAnswer = Type.Object(
  { data: Type.Ref(ReplayResource.$id!) },
  { $id: 'ReplayAnswer', description: 'One replay.' },
);

/** Sent where keys are needed: elsewhere requests are not counted. */
const COUNTED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const REPLAY_PARAMETER: JsonObject = {
  name: 'replay',
  in: 'path',
  required: true,
  description: 'The id of a replay.',
  schema: { type: 'string', pattern: '^[0-9a-f]{12}$' },
  example: '0a1b2c3d4e5f',
};

const jsonOf = (schema: { readonly $id?: string }): JsonObject => ({
  'application/json': { schema: openApiSchema({ $ref: schema.$id }) },
});

const answered = (description: string, schema?: { readonly $id?: string }, headers: readonly string[] = []) => ({
  description,
  headers: headersNamed(['Cache-Control', ...headers]),
  ...(schema === undefined ? {} : { content: jsonOf(schema) }),
});

const refused = (name: string): JsonObject => ({ $ref: `#/components/responses/${name}` });

/** `rest` are its parameters and its body; `responses` come in front of the refusals of every operation here. */
function operation(
  operationId: string,
  summary: string,
  description: string,
  responses: JsonObject,
  rest: JsonObject = {},
): JsonObject {
  const always = {
    '400': refused('BadRequest'),
    '401': refused('Unauthorized'),
    '403': refused('Forbidden'),
    '429': refused('TooManyRequests'),
    '500': refused('InternalError'),
    '503': refused('ServiceUnavailable'),
  };
  return { operationId, summary, description, tags: ['replays'], ...rest, responses: { ...responses, ...always } };
}

const NOT_FOUND = { '404': refused('NotFound') };
const ONE = { parameters: [REPLAY_PARAMETER] };

const PATHS: JsonObject = {
  '/v1/replays': {
    get: operation('listReplays', 'Replays', 'Those that the key may see, in the order of creation.', {
      '200': answered('The answer.', ReplayList),
    }),
    post: operation(
      'createReplay',
      'Create a replay',
      'Of the markets that the body selects, with a clock of its own that runs at once unless paused is true. Without a body: of everything. 404: no such market is recorded.',
      { '201': answered('It is created.', ReplayAnswer, ['Location']), ...NOT_FOUND, '409': refused('Conflict') },
      { requestBody: { required: false, content: jsonOf(ReplayRequest) } },
    ),
  },
  '/v1/replays/{replay}': {
    get: operation(
      'showReplay',
      'One replay',
      'Where its clock stands, and who listens.',
      { '200': answered('The answer.', ReplayAnswer), ...NOT_FOUND },
      ONE,
    ),
    patch: operation(
      'steerReplay',
      'Steer a replay',
      'What the body names is done, in this order: now, speed, paused, step. What is refused changes nothing.',
      { '200': answered('It is done.', ReplayAnswer), ...NOT_FOUND },
      { ...ONE, requestBody: { required: true, content: jsonOf(ReplayChange) } },
    ),
    delete: operation(
      'stopReplay',
      'Stop a replay',
      'For good: its sockets are closed with 1001.',
      { '204': answered('It is stopped.'), ...NOT_FOUND },
      ONE,
    ),
  },
};

const EDITION: Edition = {
  intro: INTRO,
  security: [{ bearer: [] }, {}],
  tags: [{ name: 'replays', description: 'What is replayed, and its clocks.' }],
  paths: PATHS,
  schemas: [ReplayResource, ReplayRequest, ReplayChange, ReplayList, ReplayAnswer],
  responses: refusalComponents({
    Conflict: problem(409, `There are ${REPLAYS_MAX} replays already.`, [], {}),
  }),
  headers: {
    Location: header('Where it is found.', { type: 'string' }, '/v1/replays/0a1b2c3d4e5f', true),
    ...Object.fromEntries(COUNTED.map((name) => [name, optional(HEADERS[name])])),
  },
};

function optional(described: Json | undefined): JsonObject {
  const { required: _, ...rest } = described as JsonObject;
  return rest;
}

/** The document of a process that replays. */
export function replayDocument(version: string): JsonObject {
  return openApiDocument(version, EDITION);
}
