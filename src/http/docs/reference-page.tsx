import { renderToString } from 'preact-render-to-string';
import scalarPath from '../../../node_modules/@scalar/api-reference/dist/browser/standalone.js' with { type: 'file' };
import { assetPath, FRAME_STYLE, LOGO } from '../pages/assets.ts';
import { Bar } from '../pages/document.tsx';
import { manualPath } from '../pages/manual-menu.tsx';
import { hashOf, StaticFile } from '../response/static-file.ts';
// @ts-expect-error TypeScript reads a module where Bun imports its text
import referenceStart from './reference-start.js' with { type: 'text' };

/** The colours and the type of the other pages, whose tokens are in FRAME_STYLE. A long line of a command is broken; contact and licence are hidden. */
const STYLE = `
  .light-mode { color-scheme: light; }
  .dark-mode { color-scheme: dark; }
  .light-mode, .dark-mode {
    --scalar-font: var(--sans);
    --scalar-font-code: var(--mono);
    --scalar-background-1: var(--paper);
    --scalar-background-2: var(--surface);
    --scalar-background-3: var(--raised);
    --scalar-background-accent: var(--accent-soft);
    --scalar-border-color: var(--line);
    --scalar-color-1: var(--ink);
    --scalar-color-2: var(--quiet);
    --scalar-color-3: var(--quiet);
    --scalar-color-accent: var(--accent);
    --scalar-color-green: var(--good);
    --scalar-color-red: var(--bad);
    --scalar-color-yellow: var(--warn);
    --scalar-color-orange: var(--series-3);
    --scalar-color-blue: var(--series-2);
    --scalar-color-purple: var(--series-4);
    --scalar-link-color: var(--accent);
    --scalar-button-1: var(--accent);
    --scalar-button-1-color: var(--on-accent);
    --scalar-button-1-hover: var(--accent);
    --scalar-radius: 0.4rem;
    --scalar-radius-lg: 0.6rem;
    --scalar-radius-xl: 0.8rem;
    --scalar-sidebar-background-1: var(--paper);
    --scalar-sidebar-border-color: var(--line);
    --scalar-sidebar-color-1: var(--ink);
    --scalar-sidebar-color-2: var(--quiet);
    --scalar-sidebar-color-active: var(--ink);
    --scalar-sidebar-item-hover-background: var(--raised);
    --scalar-sidebar-item-active-background: var(--accent-soft);
    --scalar-sidebar-search-background: var(--surface);
    --scalar-sidebar-search-border-color: var(--line);
  }
  #reference .introduction-section { padding-top: 2rem; }
  #reference h1.section-header-label::after { content: " API"; }
  #reference .section-header + .custom-scroll { display: none; }
  #reference .introduction-description pre code { white-space: pre-wrap; overflow-wrap: anywhere; }
  @media (max-width: 36rem) { #reference .introduction-description pre code { font-size: 0.7rem; } }
`;

/** Turns off all features that contact other hosts: fonts, telemetry, assistants. */
const REFERENCE = {
  theme: 'none',
  customCss: STYLE,
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
  defaultOpenAllTags: true,
};

/**
 * The page's Content-Security-Policy. Scripts are files of this host; inline scripts and eval are forbidden. The reference creates its
 * style elements with the nonce of this response, so injected markup cannot add a style sheet. It also writes style attributes,
 * which a policy cannot list one by one; they cannot load anything.
 */
export function referencePolicy(nonce: string): readonly string[] {
  return [
    "form-action 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "style-src-attr 'unsafe-inline'",
    "connect-src 'self'",
  ];
}

/** The page of the API reference; the script at the path `script` begins with reference-start.js, which reads its attributes. */
export function referencePage(nonce: string, script: string, hasAccounts: boolean): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta property="csp-nonce" content={nonce} />
        <title>bookreel API reference</title>
        <link rel="icon" href={assetPath(LOGO)} type="image/svg+xml" />
        <link rel="stylesheet" href={assetPath(FRAME_STYLE)} />
      </head>
      <body>
        <Bar section="API reference" hasAccounts={hasAccounts} />
        <div id="reference" />
        <noscript>
          <p>
            This page needs JavaScript. These do not: <a href={manualPath('interface')}>the manual</a>,{' '}
            <a href="/openapi.json">the OpenAPI document</a>, <a href="/llms.txt">plain text</a>.
          </p>
        </noscript>
        <script src={script} data-configuration={JSON.stringify(REFERENCE)} />
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(page)}\n`;
}

/** The script of the API reference: reference-start.js, then Scalar's 4.3 MB. Its name is `reference-HASH.js`. */
export async function readReferenceScript(): Promise<{ readonly name: string; readonly file: StaticFile }> {
  const scalar = await Bun.file(scalarPath).arrayBuffer();
  const hash = hashOf(referenceStart, new Uint8Array(scalar));
  const file = new StaticFile('text/javascript', new Blob([referenceStart, scalar]), hash);
  return { name: `reference-${hash}.js`, file };
}
