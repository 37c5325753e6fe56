import { bearer } from '@elysiajs/bearer';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { parsedJson } from '../../record/fields.ts';
import { type AccessDeps, admit, callerNow, keyIdOf } from '../plugins/access.ts';
import type { Cors } from '../plugins/cors.ts';
import { bodyOf } from '../request-body.ts';
import { originOf } from '../request-origin.ts';
import { NO_STORE, type ResponseSettings, respond } from '../response/response.ts';
import { mcpServer } from './mcp-server.ts';
import type { V1Service } from './v1-service.ts';

export interface McpDeps {
  readonly access: AccessDeps;
  readonly version: string;
  readonly cors: Cors | undefined;
  readonly logError: (line: string) => void;
  /** Answers a request of this process as one of a client. Its address is that of `sender`. */
  readonly handle: (request: Request, sender: Request) => Response | Promise<Response>;
}

const BODY_BYTES_MAX = 64 * 1024;
/** Headers of the client that its requests of /v1 have too, and those of the last answer that it gets. */
const PASSED = ['authorization', 'host', 'user-agent', 'x-forwarded-for', 'forwarded', 'x-forwarded-proto'];
const LIMITS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'];

/**
 * The tools over HTTP (MCP's Streamable HTTP, without sessions). A valid key is needed. A message counts as its requests of /v1, with the
 * key; without any of them it counts for its address, as paths outside /v1 do. Load this file late.
 */
export function mcpController({ access, version, cors, handle, logError }: McpDeps): Elysia {
  const controller = new Elysia({ name: 'mcp' });
  controller.use(bearer()).post(
    '/mcp',
    async ({ bearer: token, request, set, route }) => {
      // Browsers send an origin with each POST (Fetch standard, 3.2), and the library answers all of them.
      if (request.headers.has('origin') && cors?.allows(request) !== true)
        throw new DomainError(
          'forbidden',
          'pages of this origin may not use /mcp: --cors-origins names those that may',
        );
      const settings: ResponseSettings = set;
      const caller = callerNow(access, request, token) ?? admit(access, { request, set, route }, token);
      if (settings.observer !== undefined)
        Object.assign(settings.observer, { route, keyId: keyIdOf(caller), tier: caller.tier.id });
      const origin = originOf(request);
      const send: V1Service['send'] = async (path, init) => {
        const headers = new Headers();
        for (const name of PASSED) if (request.headers.has(name)) headers.set(name, request.headers.get(name)!);
        const answer = await handle(new Request(`${origin}${path}`, { ...init, headers }), request);
        for (const name of LIMITS) if (answer.headers.has(name)) settings.headers[name] = answer.headers.get(name)!;
        return answer;
      };
      const server = () => mcpServer({ origin, flags: '', send }, version, logError);
      // Nothing can be subscribed to: tools do not change while a process runs.
      const handler = createMcpHandler(server, { maxSubscriptions: 0 });
      const body = await bodyOf(request, BODY_BYTES_MAX);
      if (body === undefined) throw new DomainError('too-large', `a message may have ${BODY_BYTES_MAX} bytes`);
      const message = parsedJson(body.toString());
      // A batch multiplies the work of one request, and one with the cancellation of its own call is never answered.
      if (Array.isArray(message))
        throw new DomainError('malformed-request', 'send one message in each request, no batch');
      const answer = await handler.fetch(request, { parsedBody: message ?? null });
      // A stream, which ends with the answers of the tools.
      const bytes = Buffer.from(await answer.arrayBuffer());
      // Counts nothing if a request of /v1 was counted.
      if (settings.headers['x-ratelimit-limit'] === undefined) await access.rateLimit.askForAddress(request);
      access.rateLimit.chargeAddress({ request, set });
      const headers = { ...NO_STORE, 'content-type': answer.headers.get('content-type') ?? 'application/json' };
      return respond(set, bytes, headers, answer.status);
    },
    { parse: 'none', detail: { hide: true } },
  );
  return controller;
}
