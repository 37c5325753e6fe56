import { swagger } from '@elysiajs/swagger';
import { Elysia } from 'elysia';
import scalarPath from '../../node_modules/@scalar/api-reference/dist/browser/standalone.js' with { type: 'file' };
// @ts-expect-error TypeScript sees a module where its text is asked for
import segmentReader from '../client/segment-reader.ts' with { type: 'text' };
import segmentsForm from '../client/segments.md' with { type: 'text' };
import { openApiDocument } from './openapi.ts';
import { ROUTES, routerPath } from './routes.ts';

/** Nothing that would ask a foreign host: no fonts, telemetry, assistants. The plugin's types do not know all of this. */
const REFERENCE = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  spec: { url: ROUTES.openapi.path },
};

/** The browser holds the page to it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The API reference and its document. The page and all it needs are in the executable: it works with no network. The
 * plugin serves our document as it is; what it would gather from the router is left out. Beside it stands what clients of
 * the form of segments need.
 */
export function docsController(version: string) {
  return (
    new Elysia({ name: 'docs' })
      .onBeforeHandle(({ set }) => {
        set.headers['content-security-policy'] = CONTENT_SECURITY_POLICY;
      })
      .get(routerPath('reference'), () => {
        const headers = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'max-age=86400' };
        return new Response(Bun.file(scalarPath), { headers });
      })
      .get(routerPath('segmentsForm'), () => text(segmentsForm, 'text/markdown'))
      // No type of TypeScript is registered; as plain text a browser shows it.
      .get(routerPath('segmentReader'), () => text(segmentReader, 'text/plain'))
      .use(
        swagger({
          path: ROUTES.docs.path,
          specPath: ROUTES.openapi.path,
          exclude: [/./],
          // Typed for OpenAPI 3.0; what it serves is what it is given.
          documentation: JSON.parse(JSON.stringify(openApiDocument(version))),
          scalarCDN: ROUTES.reference.path,
          scalarConfig: REFERENCE,
        }),
      )
  );
}

function text(content: string, type: string): Response {
  return new Response(content, {
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'max-age=86400' },
  });
}
