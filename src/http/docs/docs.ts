import { randomBytes } from 'node:crypto';
import { swagger } from '@elysiajs/swagger';
import { Elysia } from 'elysia';
// @ts-expect-error TypeScript sees a module where its text is asked for
import segmentReader from '../../client/segment-reader.ts' with { type: 'text' };
import { DomainError } from '../../domain/errors.ts';
import { formatRows } from '../../import/codecs.ts';
import { manualPages } from '../../manual/manual.ts';
import { encodingOf } from '../response/accept.ts';
import { type ResponseSettings, respond } from '../response/response.ts';
import { ROUTES, routerPath } from '../routes.ts';
import { llmsText } from './llms.ts';
import { manualMarkdown, manualPage } from './manual-page.ts';
import type { JsonObject } from './openapi-schema.ts';
import { originOf, pageHeaders, plainPageHeaders } from './page.ts';
import { referencePage, referencePolicy } from './reference-page.ts';
import { ReferenceScript } from './reference-script.ts';

const NONCE_BYTES = 16;
/** Not in the API document: the name of the script changes with the program. */
const SCRIPTS = '/docs/scripts';

/** For responses that are not pages: if a browser shows one, it loads nothing. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";

/**
 * The API reference and its document, as text too, the manual, and a reader for segments. All is in the executable
 * and works without a network. The plugin serves our document as it is, without what it would gather from the router; our page
 * takes the place of its own, which needs inline scripts.
 */
export function docsController(described: JsonObject) {
  // The plugin's type is for OpenAPI 3.0; it serves any document unchanged.
  const document = JSON.parse(JSON.stringify(described));
  const script = new ReferenceScript();
  return (
    new Elysia({ name: 'docs' })
      .onBeforeHandle(async ({ route, set }) => {
        if (route === ROUTES.openapi.path) set.headers['content-security-policy'] = NOTHING;
        if (route !== ROUTES.docs.path) return undefined;
        const nonce = randomBytes(NONCE_BYTES).toString('base64');
        return respond(
          set,
          referencePage(nonce, `${SCRIPTS}/${await script.name()}`),
          pageHeaders(referencePolicy(nonce)),
        );
      })
      .get(`${SCRIPTS}/:name`, async ({ params, request, set }) => {
        if (params.name !== (await script.name())) {
          throw new DomainError('not-found', 'this version has another script: load /docs again');
        }
        const encoding = encodingOf(request.headers.get('accept-encoding') ?? '');
        return respond(set, await script.encoded(encoding), {
          'content-type': 'text/javascript; charset=utf-8',
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'Accept-Encoding',
          ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
        });
      })
      .get(routerPath('llms'), ({ request, set }) => {
        return text(
          set,
          llmsText(document, manualPages(formatRows()), originOf(request)),
          'text/plain',
          'private, no-cache',
        );
      })
      // TypeScript has no registered media type; browsers show plain text.
      .get(routerPath('segmentReader'), ({ set }) => text(set, segmentReader, 'text/plain'))
      .get(routerPath('manual'), ({ params, set }) => {
        const name = params.page.replace(/\.md$/, '');
        const markdown = manualMarkdown(name);
        if (name !== params.page) return text(set, markdown, 'text/markdown');
        return respond(set, manualPage(name, markdown), plainPageHeaders());
      })
      .use(
        swagger({
          path: ROUTES.docs.path,
          specPath: ROUTES.openapi.path,
          exclude: [/./],
          documentation: document,
        }),
      )
  );
}

function text(set: ResponseSettings, content: string | Blob, type: string, kept = 'max-age=86400'): Response {
  return respond(set, content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': kept,
    'content-security-policy': NOTHING,
  });
}
