import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { assetPath, LOGO, STYLE } from './assets.ts';
import type { BuiltAsset } from './built-asset.ts';

export interface DocumentContent {
  readonly title: string;
  /** The part of the site that the page belongs to; its link is marked. */
  readonly section?: Section | undefined;
  readonly hasAccounts: boolean;
  /** The address of the person who is signed in: the bar has their menu. Undefined: the page is the same for everybody. */
  readonly email?: string | undefined;
  /** `view`: as wide as the window. */
  readonly width?: 'narrow' | 'prose' | 'view';
  /** Scripts that improve a page that works without them. */
  readonly scripts?: readonly BuiltAsset[];
  readonly children: ComponentChildren;
}

type Section = (typeof SECTIONS)[number]['name'];

const SECTIONS = [
  { name: 'Recordings', href: '/view' },
  { name: 'Manual', href: '/docs/manual' },
  { name: 'API reference', href: '/docs' },
  { name: 'Pricing', href: '/pricing' },
  { name: 'Account', href: '/account' },
] as const;

/** A page as HTML: light and dark, from a phone's width. Its style sheet and logo are files of this host. */
export function htmlDocument(document: DocumentContent): string {
  const { title, section, hasAccounts, email, width, scripts = [], children } = document;
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title === 'bookreel' ? title : `${title} · bookreel`}</title>
        <link rel="icon" href={assetPath(LOGO)} type="image/svg+xml" />
        <link rel="stylesheet" href={assetPath(STYLE)} />
        {scripts.map((script) => (
          <script key={script.name} type="module" src={assetPath(script)} />
        ))}
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <Bar section={section} hasAccounts={hasAccounts} email={email} />
        <main id="content" class={width === undefined ? 'content' : `content ${width}`}>
          {children}
        </main>
        {width !== 'view' && <Foot hasAccounts={hasAccounts} />}
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(page)}\n`;
}

const FOOT_LINKS = [
  ['/docs/manual', 'Manual'],
  ['/docs', 'API reference'],
  ['/openapi.json', 'OpenAPI'],
  ['/llms.txt', 'Plain text for language models'],
] as const;

/** The end of every page that is not as wide as the window. Every process that serves pages has these paths. */
function Foot({ hasAccounts }: Pick<DocumentContent, 'hasAccounts'>) {
  return (
    <footer class="foot small quiet">
      <span>Order books, exactly as recorded</span>
      <nav aria-label="More">
        {[...FOOT_LINKS, ...(hasAccounts ? [['/pricing', 'Pricing'] as const] : [])].map(([href, name]) => (
          <a key={href} href={href}>
            {name}
          </a>
        ))}
      </nav>
    </footer>
  );
}

/** The bar at the top of every page. */
export function Bar({ section, hasAccounts, email }: Pick<DocumentContent, 'section' | 'hasAccounts' | 'email'>) {
  const shown = SECTIONS.filter(({ name }) =>
    name === 'Account' ? hasAccounts && email === undefined : hasAccounts || name !== 'Pricing',
  );
  return (
    <header class="bar">
      <a class="brand" href="/">
        <img src={assetPath(LOGO)} alt="" width="28" height="28" />
        bookreel
      </a>
      <nav aria-label="Site">
        {shown.map(({ name, href }) => (
          <a key={name} href={href} aria-current={name === section ? 'page' : undefined}>
            {/* A phone shows the first word. */}
            {name.split(' ').map((word, nth) => (nth === 0 ? word : <span key={word} class="wide">{` ${word}`}</span>))}
          </a>
        ))}
      </nav>
      {email !== undefined && <AccountMenu email={email} />}
    </header>
  );
}

/** A button with the address of the person. What it opens needs no script. */
function AccountMenu({ email }: { readonly email: string }) {
  return (
    <>
      <button class="account" type="button" popovertarget="account-menu" title={`Signed in as ${email}`}>
        <span class="initial" aria-hidden="true">
          {email.charAt(0).toUpperCase()}
        </span>
        <span class="who">
          <span class="hidden">Signed in as </span>
          {email}
        </span>
      </button>
      <div id="account-menu" class="card account-menu" popover="auto">
        <p class="quiet small long">{email}</p>
        <a href="/account">Overview</a>
        <a href="/account/keys">Keys</a>
        <a href="/account/settings">Settings</a>
        <form method="post" action="/sign-out">
          <button class="button small wide" type="submit">
            Sign out
          </button>
        </form>
      </div>
    </>
  );
}
