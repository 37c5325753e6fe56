import { randomBytes } from 'node:crypto';
import { swagger } from '@elysiajs/swagger';
import { Elysia, t } from 'elysia';
import { Type } from 'typebox';
// @ts-expect-error TypeScript reads a module where Bun imports its text
import segmentReader from '../../client/segment-reader.ts' with { type: 'text' };
import { DomainError } from '../../domain/errors.ts';
import { manualInserts } from '../../import/manual-inserts.ts';
import { FILES, manualPages } from '../../manual/manual.ts';
import { described, FILE_HEADERS, PAGE_HEADERS, Text } from '../openapi/described.ts';
import type { JsonObject } from '../openapi/schema.ts';
import { manualPath } from '../pages/manual-menu.tsx';
import { copyPageHeaders, pageHeaders } from '../pages/page-headers.ts';
import { PATH } from '../parameters/path.ts';
import { originOf } from '../request-origin.ts';
import { type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { type DescribedApi, llmsText } from './llms.ts';
import { manualMarkdown, manualPage } from './manual-page.tsx';
import { type GatheredDocument, openApiDocument } from './openapi.ts';
import { readReferenceScript, referencePage, referencePolicy } from './reference-page.tsx';
import { sdkController } from './sdk.tsx';

const NONCE_BYTES = 16;
/** Further characters of a search of the manual are ignored. */
const SEARCH_LENGTH_MAX = 200;
/** Not in the API document: the name of the script changes with every release. */
const SCRIPTS = '/docs/scripts';

/** For responses that are not pages: browsers that show one load nothing. */
const NOTHING = "default-src 'none'; frame-ancestors 'none'";

const DOCS = '/docs';
const OPENAPI = '/openapi.json';

/** Descriptions of the plugin's own routes, which it does not gather. */
const PLUGIN_PATHS = {
  [DOCS]: {
    get: described('docs', {
      summary: 'API reference',
      description: 'This document as a page for browsers. The page loads nothing from other hosts.',
      content: { 'text/html': Text },
      headers: PAGE_HEADERS,
    }),
  },
  [OPENAPI]: {
    get: described('openapi', {
      summary: 'This document',
      description: 'OpenAPI 3.1.',
      answer: Type.Unknown({ description: 'An OpenAPI document.' }),
      headers: ['Content-Security-Policy'],
    }),
  },
};

/**
 * The API reference, the API document, llms.txt, the manual, a reader for segments, and the packages of the clients. All are in the executable and work without a
 * network. The plugin gathers the document from the routes. Its own page needs inline scripts, so `onBeforeHandle` sends another.
 */
export function docsController(version: string, isReplay: boolean, hasAccounts: boolean) {
  const gatherer = swagger({
    path: DOCS,
    specPath: OPENAPI,
    excludeStaticFile: false,
    exclude: [/^\/replays\//],
    documentation: { paths: PLUGIN_PATHS as Record<string, object> },
  });
  let made: (DescribedApi & JsonObject) | undefined;
  const document = async () => {
    if (made !== undefined) return made;
    const answer = await gatherer.handle(new Request(`http://localhost${OPENAPI}`));
    const gathered = (await answer.json()) as GatheredDocument;
    // The routes never change after the first request.
    made = JSON.parse(JSON.stringify(openApiDocument(gathered, version, isReplay))) as DescribedApi & JsonObject;
    return made;
  };
  let read: ReturnType<typeof readReferenceScript> | undefined;
  // The first request reads it.
  const script = () => (read ??= readReferenceScript());
  return (
    new Elysia({ name: 'docs' })
      .onBeforeHandle(async ({ route, set }) => {
        if (route === OPENAPI) return respondJson(set, await document(), { 'content-security-policy': NOTHING });
        if (route !== DOCS) return undefined;
        const nonce = randomBytes(NONCE_BYTES).toString('base64');
        return respond(
          set,
          referencePage(nonce, `${SCRIPTS}/${(await script()).name}`, hasAccounts),
          pageHeaders(referencePolicy(nonce)),
        );
      })
      .get(
        `${SCRIPTS}/:name`,
        async ({ params, request, set }) => {
          const { name, file } = await script();
          if (params.name === name) return await file.answer(request, set);
          throw new DomainError('not-found', 'this version has a different script: load /docs again');
        },
        { detail: { hide: true } },
      )
      .get(
        '/llms.txt',
        async ({ request, set }) => {
          const content = llmsText(await document(), manualPages(manualInserts()), originOf(request));
          return text(set, content, 'text/plain', 'private, no-cache');
        },
        {
          detail: file(
            'llms',
            'This document as plain text',
            'For language models, in the format of llmstxt.org: everything that a client needs.',
          ),
        },
      )
      // TypeScript has no registered media type; browsers show plain text.
      .get('/docs/segment-reader.ts', ({ set }) => text(set, segmentReader, 'text/plain'), {
        detail: file(
          'segmentReader',
          'A reader for segments',
          'One TypeScript file without imports, to copy into a project. It reads the same snapshots as the API’s pages, in the same order, and validates its input. For Node, Bun, Deno and browsers.',
        ),
      })
      .get(
        '/docs/:page',
        ({ params, request, set }) => {
          const name = params.page.replace(/\.md$/, '');
          const search = new URL(request.url).searchParams.get('search')?.slice(0, SEARCH_LENGTH_MAX) ?? '';
          const markdown = manualMarkdown({ name, search, origin: originOf(request), isReplay });
          if (name !== params.page) return text(set, markdown, 'text/markdown', 'private, no-cache');
          return respond(set, manualPage(name, search, markdown, hasAccounts), copyPageHeaders("'self'"));
        },
        {
          params: t.Object({ page: PATH.page }),
          detail: described('manual', {
            summary: 'A page of the manual',
            description: `For browsers, or as Markdown if the name ends with .md. ${manualPath()} lists the pages, and with ?search= the sections that have all of the given words. Examples have the host of the request.`,
            content: { 'text/html': Text, 'text/markdown': Text },
            headers: PAGE_HEADERS,
          }),
        },
      )
      .use(attachments())
      .use(sdkController(hasAccounts))
      .use(gatherer)
  );
}

/** By the endings of names. */
const TYPES: Readonly<Record<string, string>> = {
  ipynb: 'application/x-ipynb+json',
  png: 'image/png',
  svg: 'image/svg+xml',
};

/** The pictures and notebooks of the manual. Not in the API document. */
function attachments() {
  const served = new Elysia({ name: 'manual-files', detail: { hide: true } });
  for (const [name, path] of Object.entries(FILES)) {
    served.get(manualPath(name), ({ set }) => answer(set, Bun.file(path), TYPES[name.split('.').at(-1)!]!));
  }
  return served;
}

/** A plain text file in the executable. */
function file(id: string, summary: string, description: string) {
  return described(id, { summary, description, content: { 'text/plain': Text }, headers: FILE_HEADERS });
}

function text(set: ResponseSettings, content: string, type: string, cacheControl?: string): Response {
  return answer(set, content, `${type}; charset=utf-8`, cacheControl);
}

function answer(set: ResponseSettings, content: string | Blob, type: string, cacheControl = 'max-age=86400'): Response {
  return respond(set, content, {
    'content-type': type,
    'cache-control': cacheControl,
    'content-security-policy': NOTHING,
  });
}
