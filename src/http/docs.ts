import { swagger } from '@elysiajs/swagger';
import { Elysia } from 'elysia';
import scalarPath from '../../node_modules/@scalar/api-reference/dist/browser/standalone.js' with { type: 'file' };
import { openApiDocument } from './openapi.ts';
import { ROUTES } from './routes.ts';

const SCRIPT_PATH = '/docs/reference.js';

/** No fonts and no telemetry from elsewhere. The plugin's types do not know all that the reference takes. */
const REFERENCE = { withDefaultFonts: false, telemetry: false, spec: { url: ROUTES.openapi.path } };

/**
 * The API reference and its document. The page and all it needs are in the executable: it works with no network. The
 * plugin serves our document as it is; what it would gather from the router is left out.
 */
export function docsController(version: string) {
  return new Elysia({ name: 'docs' })
    .get(SCRIPT_PATH, () => {
      const headers = { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'max-age=86400' };
      return new Response(Bun.file(scalarPath), { headers });
    })
    .use(
      swagger({
        path: ROUTES.docs.path,
        specPath: ROUTES.openapi.path,
        exclude: [/./],
        // Typed for OpenAPI 3.0; what it serves is what it is given.
        documentation: JSON.parse(JSON.stringify(openApiDocument(version))),
        scalarCDN: SCRIPT_PATH,
        scalarConfig: REFERENCE,
      }),
    );
}
