import { Elysia } from 'elysia';
import { Type } from 'typebox';
import { DomainError } from '../../domain/errors.ts';
import { described, PAGE_HEADERS, Text } from '../openapi/described.ts';
import { COPY_SCRIPT } from '../pages/assets.ts';
import { Copyable } from '../pages/copyable.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { manualPath } from '../pages/manual-menu.tsx';
import { copyPageHeaders } from '../pages/page-headers.ts';
import { originOf } from '../request-origin.ts';
import { prefersHtml } from '../response/accept.ts';
import { respond, respondJson } from '../response/response.ts';
import type { Package } from './packages.ts';

const SDK = '/sdk';
/** By the ending of a name: the media type, the command that installs the package, and who imports it. */
const KINDS: Readonly<Record<string, { readonly type: string; readonly install: string; readonly language: string }>> =
  {
    tgz: { type: 'application/gzip', install: 'npm install', language: 'TypeScript and JavaScript' },
    whl: { type: 'application/zip', install: 'pip install', language: 'Python' },
  };

const PackageList = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The name of the file, with its version.' }),
        path: Type.String({ description: 'Its path on this host.' }),
        bytes: Type.Integer({ minimum: 1, description: 'Its size.' }),
        sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Its SHA-256 in hex.' }),
        install: Type.String({ description: 'The command that installs it from here.' }),
      }),
      { maxItems: 2, description: 'By name.' },
    ),
  },
  { $id: 'PackageList', description: 'The packages of the clients.' },
);

/** The packages of the clients for Python and TypeScript, which are in the executable: they are installed without another network. */
export function sdkController(hasAccounts: boolean) {
  return new Elysia({ name: 'sdk' })
    .get(
      SDK,
      async ({ request, set }) => {
        const data = (await packages()).map(({ name, bytes, sha256 }) => {
          const path = `${SDK}/${name}`;
          return {
            name,
            path,
            bytes: bytes.length,
            sha256,
            install: `${kindOf(name).install} ${originOf(request)}${path}`,
          };
        });
        const vary = { vary: 'Accept' };
        if (!prefersHtml(request.headers.get('accept') ?? '')) {
          return respondJson(set, { data }, { 'cache-control': 'private, no-cache', ...vary });
        }
        return respond(set, listPage(data, hasAccounts), { ...copyPageHeaders(), ...vary });
      },
      {
        detail: described('sdk', {
          summary: 'Packages of the clients',
          description:
            'The clients for Python and TypeScript as packages, with the commands that install them from here. As a page if Accept prefers HTML; pip takes it as --find-links.',
          answer: PackageList,
          content: { 'text/html': Text },
          headers: ['Vary', ...PAGE_HEADERS],
        }),
      },
    )
    .get(
      `${SDK}/:name`,
      async ({ params, request, set }) => {
        const found = (await packages()).find(({ name }) => name === params.name);
        if (found === undefined) {
          throw new DomainError('not-found', `this version has no such package: ${SDK} lists its packages`);
        }
        const headers = {
          etag: `"${found.sha256}"`,
          'cache-control': 'public, no-cache',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        };
        if (request.headers.get('if-none-match') === headers.etag) return respond(set, null, headers, 304);
        return respond(set, found.bytes, { ...headers, 'content-type': kindOf(found.name).type });
      },
      // The names change with every release.
      { detail: { hide: true } },
    );
}

/** They are decoded at the first request: the start of a server does not wait for them. */
async function packages(): Promise<readonly Package[]> {
  return (await import('./packages.ts')).PACKAGES;
}

function kindOf(name: string) {
  return KINDS[name.slice(name.lastIndexOf('.') + 1)]!;
}

function listPage(data: (typeof PackageList.static)['data'], hasAccounts: boolean): string {
  return htmlDocument({
    title: 'Clients',
    section: 'Manual',
    hasAccounts,
    width: 'prose',
    scripts: [COPY_SCRIPT],
    children: (
      <article class="prose">
        <h1>Clients</h1>
        <p>
          Packages that read markets, books and streams, with types, pages and retries.{' '}
          <a href={manualPath('sdk')}>The manual</a> shows how to use them.
        </p>
        {data.map(({ name, path, bytes, sha256, install }) => (
          <section key={name} class="card">
            <h2>{kindOf(name).language}</h2>
            <Copyable id={name.slice(-3)} label="Copy the command" text={install} />
            <p class="quiet small">
              {/* pip checks the digest. */}
              <a href={`${path}#sha256=${sha256}`}>{name}</a>, {bytes.toLocaleString('en')} bytes, SHA-256{' '}
              <code>{sha256}</code>
            </p>
          </section>
        ))}
      </article>
    ),
  });
}
