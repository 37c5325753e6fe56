import { Type } from 'typebox';
import { REPLAYS_MAX } from '../../replay/replays.ts';
import { type Edition, openApiDocument } from '../docs/openapi.ts';
import { HEADERS, header, headersNamed, problem, refusalComponents } from '../docs/openapi-responses.ts';
import { type Json, type JsonObject, openApiSchema } from '../docs/openapi-schema.ts';
import { ReplayChange, ReplayRequest, ReplayResource } from './replay-resource.ts';

const INTRO = `A process that replays: everything is answered as at the instant of a clock, and nothing later is told. Paths speak of the first replay; with /replays/{replay} in front they speak of another one. Those under /v1/replays list, make and steer replays; all others are read-only. Where others than this machine can connect every path under /v1 needs an API key, sent as Authorization: Bearer, whose tier grants replay; on loopback none does, and no X-RateLimit header is sent.

Beside what is described here it has the venue’s own paths (/ws/market, /book, /markets and so on) and those of tardis-machine (/replay, /replay-normalized, /ws-replay, /ws-replay-normalized), which their own documentation describes.`;

const ReplayList = Type.Object(
  {
    data: Type.Array(Type.Ref(ReplayResource.$id!), { maxItems: REPLAYS_MAX, description: 'In the order of making.' }),
  },
  { $id: 'ReplayList', description: 'The replays of this process.' },
);
const ReplayAnswer = Type.Object(
  { data: Type.Ref(ReplayResource.$id!) },
  { $id: 'ReplayAnswer', description: 'One replay.' },
);

/** Sent where keys are needed: elsewhere nobody is counted. */
const COUNTED = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

const RUN_PARAMETER: JsonObject = {
  name: 'run',
  in: 'path',
  required: true,
  description: 'The id of a replay.',
  schema: { type: 'string', pattern: '^[0-9a-f]{12}$' },
  example: '0a1b2c3d4e5f',
};

const jsonOf = (schema: { readonly $id?: string }): JsonObject => ({
  'application/json': { schema: openApiSchema({ $ref: schema.$id }) },
});

const answered = (description: string, schema?: { readonly $id?: string }, beside: readonly string[] = []) => ({
  description,
  headers: headersNamed(['Cache-Control', ...beside]),
  ...(schema === undefined ? {} : { content: jsonOf(schema) }),
});

/** What every operation here may be refused with, and what only some are. */
function refused(...statuses: readonly (readonly [string, string])[]): JsonObject {
  const always = [
    ['400', 'BadRequest'],
    ['401', 'Unauthorized'],
    ['403', 'Forbidden'],
    ['429', 'TooManyRequests'],
    ['500', 'InternalError'],
    ['503', 'ServiceUnavailable'],
  ] as const;
  return Object.fromEntries(
    [...always, ...statuses].map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  );
}

function operation(operationId: string, summary: string, description: string, rest: JsonObject): JsonObject {
  return { operationId, summary, description, tags: ['replays'], ...rest };
}

const bodyOf = (schema: { readonly $id?: string }, required: boolean): JsonObject => ({
  required,
  content: jsonOf(schema),
});

const NOT_FOUND = ['404', 'NotFound'] as const;

const PATHS: JsonObject = {
  '/v1/replays': {
    get: operation('listReplays', 'Replays', 'Those that the key may see, in the order of making.', {
      responses: { '200': answered('The answer.', ReplayList), ...refused() },
    }),
    post: operation(
      'makeReplay',
      'Make a replay',
      'Of the markets that the body selects, with a clock of its own that runs at once unless paused is true. Without a body: of everything. 404: no such market is recorded.',
      {
        requestBody: bodyOf(ReplayRequest, false),
        responses: {
          '201': answered('It is made.', ReplayAnswer, ['Location']),
          ...refused(NOT_FOUND, ['409', 'Conflict']),
        },
      },
    ),
  },
  '/v1/replays/{replay}': {
    get: operation('showReplay', 'One replay', 'Where its clock stands, and who listens.', {
      parameters: [RUN_PARAMETER],
      responses: { '200': answered('The answer.', ReplayAnswer), ...refused(NOT_FOUND) },
    }),
    patch: operation(
      'steerReplay',
      'Steer a replay',
      'What the body names is done, in this order: now, speed, paused, step. What is refused changes nothing.',
      {
        parameters: [RUN_PARAMETER],
        requestBody: bodyOf(ReplayChange, true),
        responses: { '200': answered('It is done.', ReplayAnswer), ...refused(NOT_FOUND) },
      },
    ),
    delete: operation('endReplay', 'End a replay', 'For good: its sockets are closed with 1001.', {
      parameters: [RUN_PARAMETER],
      responses: { '204': answered('It is stopped.'), ...refused(NOT_FOUND) },
    }),
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
