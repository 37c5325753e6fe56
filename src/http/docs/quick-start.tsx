import { ApiLinks } from '../pages/api-links.tsx';
import { COPY_SCRIPT } from '../pages/assets.ts';
import { Commands } from '../pages/commands.tsx';
import { Copyable } from '../pages/copyable.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { NARROW, WIDE } from '../pages/heat-map-svg.ts';
import { firstCommands } from './first-commands.ts';
import { manualPath } from './manual-page.tsx';
import type { ShownMarket } from './market-picture.ts';

/** The recordings that the page mentions. */
export interface Recorded {
  /** By name. */
  readonly coins: readonly string[];
  /** A coin with order books, and a tier that may read them; undefined where nothing of that kind is recorded. */
  readonly example: { readonly coin: string; readonly tier: string } | undefined;
  /** The market to show; undefined: none. */
  readonly picture: ShownMarket | undefined;
}

interface QuickStart {
  readonly version: string;
  /** The origin of this service in the reader's browser. */
  readonly origin: string;
  /** Undefined while the archive cannot be read. */
  readonly recorded: Recorded | undefined;
  readonly hasAccounts: boolean;
}

/** The example's tier grants markets and snapshots. */
const ALL_ROUTES = { routes: undefined };

/** The page at `/`: a recorded market, how to get a key, commands to paste, and ways for each kind of reader. It names no markets: keys are needed for them. */
export function quickStartPage({ version, origin, recorded, hasAccounts }: QuickStart): string {
  const { coin, tier } = recorded?.example ?? { coin: 'btc', tier: 'starter' };
  const children = (
    <>
      <div class="hero">
        <div>
          <h1>Order books of up‑or‑down markets, exactly as recorded</h1>
          {recorded !== undefined && recorded.coins.length > 0 && <Coins coins={recorded.coins} />}
        </div>
        <div>
          <p class="lead">
            Every snapshot of short-horizon prediction markets with its time, every gap stated, nothing later than the
            instant you ask for: over a read-only HTTP API.
          </p>
          <p class="row">
            {hasAccounts && (
              <a class="button primary" href="/account/keys/new">
                Get a key
              </a>
            )}
            <a class="button" href="/view">
              See the recordings
            </a>
          </p>
        </div>
      </div>
      {recorded?.picture !== undefined && <Picture {...recorded.picture} />}
      <Ways hasAccounts={hasAccounts} />
      <h2>Start</h2>
      <ol class="steps">
        <li class="card">
          <h2>Get a key</h2>
          <p>
            {hasAccounts ? (
              <>
                Create one in <a href="/account">your account</a>.
              </>
            ) : (
              'The operator of this server creates keys on its command line, also while it runs.'
            )}{' '}
            A key is shown only once. Its tier decides the coins and routes that it may read, and its number of requests
            per minute.
          </p>
          {!hasAccounts && <Commands lines={[`bookreel key create --tier ${tier}`]} />}
          <Commands lines={['export KEY=br_live_…']} />
        </li>
        {recorded === undefined || recorded.example !== undefined ? (
          <FirstRequest coin={coin} origin={origin} />
        ) : (
          <FirstImport />
        )}
      </ol>
      <p class="quiet small">Version {version}</p>
    </>
  );
  return htmlDocument({ title: 'bookreel', hasAccounts, scripts: [COPY_SCRIPT], children });
}

/** As wide as the content. On a phone it is a picture of its own, with labels that can be read. */
function Picture({ path, narrowPath, title }: ShownMarket) {
  return (
    <figure class="market-picture">
      <picture>
        <source media="(max-width: 40rem)" srcset={narrowPath} width={NARROW.width} height={NARROW.height} />
        <img src={path} alt={title} width={WIDE.width} height={WIDE.height} />
      </picture>
      <figcaption class="quiet small">
        One of the recorded markets, drawn by this service: each row is a price, and the stronger its colour, the more
        shares rest there.
      </figcaption>
    </figure>
  );
}

const OF_ACCOUNTS = /^\/(?:account|sign-in)/;
const WAYS: Readonly<Record<string, readonly (readonly [href: string, name: string])[]>> = {
  'New here?': [
    [manualPath(), 'The manual: what is recorded, and how it is served'],
    ['/pricing', 'Pricing'],
    ['/sign-in', 'Sign in'],
  ],
  Customers: [
    ['/view', 'Recordings: charts and downloads'],
    ['/account/keys', 'Your keys'],
    [manualPath('segments'), 'Segments, the smallest download'],
  ],
  Operators: [
    [manualPath('install'), 'Install and run a service'],
    [manualPath('recordings'), 'Import recordings'],
    [manualPath('operations'), 'Operate it'],
  ],
};

/** Links for visitors, customers and operators. */
function Ways({ hasAccounts }: { readonly hasAccounts: boolean }) {
  return (
    <div class="cards">
      {Object.entries(WAYS).map(([heading, links]) => (
        <section key={heading} class="card">
          <h2>{heading}</h2>
          <ul>
            {heading === 'Customers' && <ApiLinks />}
            {links
              .filter(([href]) => hasAccounts || !OF_ACCOUNTS.test(href))
              .map(([href, name]) => (
                <li key={href}>
                  <a href={href}>{name}</a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Coins({ coins }: { readonly coins: readonly string[] }) {
  return (
    <p class="row">
      <span class="quiet">Recorded coins:</span>
      {coins.map((coin) => (
        <code key={coin} class="badge accent">
          {coin}
        </code>
      ))}
    </p>
  );
}

function FirstImport() {
  return (
    <li class="card">
      <h2>Import a recording</h2>
      <p>
        No order books are recorded here yet. Import a recording on the machine of this server, also while it runs, and
        load this page again:
      </p>
      <Commands lines={['bookreel import PATH']} />
    </li>
  );
}

function FirstRequest({ coin, origin }: { readonly coin: string; readonly origin: string }) {
  const [first, ...others] = firstCommands({ origin, tier: ALL_ROUTES, coin });
  return (
    <li class="card">
      <h2>Send a request</h2>
      <p>
        These commands print the latest market of <code>{coin}</code> with recorded order books, keep its name, and
        print its first two order book snapshots:
      </p>
      <Copyable id="first-request" label="Copy" text={first!} />
      <Commands lines={others} />
    </li>
  );
}
