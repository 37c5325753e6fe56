import { ApiLinks } from '../pages/api-links.tsx';
import { assetPath, ORDER_BOOK } from '../pages/assets.ts';
import { Commands } from '../pages/commands.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { firstCommands } from './first-commands.ts';
import { manualPath } from './manual-page.tsx';

/** The recordings that the page mentions. */
export interface Recorded {
  /** By name. */
  readonly coins: readonly string[];
  /** A coin with order books, and a tier that may read them; undefined where nothing of that kind is recorded. */
  readonly example: { readonly coin: string; readonly tier: string } | undefined;
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

/** The page at `/`: how to get a key, and commands to paste. It names no markets: keys are needed for them. */
export function quickStartPage({ version, origin, recorded, hasAccounts }: QuickStart): string {
  const { coin, tier } = recorded?.example ?? { coin: 'btc', tier: 'starter' };
  const children = (
    <>
      <div class="hero">
        <div>
          <h1>Order books of up‑or‑down markets, exactly as recorded</h1>
          <p class="lead">
            bookreel serves recorded order books of short-horizon up-or-down prediction markets over a read-only HTTP
            API: every snapshot with its time, every gap stated, nothing later than the instant you ask for.
          </p>
          {recorded !== undefined && recorded.coins.length > 0 && <Coins coins={recorded.coins} />}
        </div>
        <img src={assetPath(ORDER_BOOK)} alt="" width="440" height="300" />
      </div>
      <ol class="steps">
        <li class="card">
          <h2>Get a key</h2>
          <p>
            {hasAccounts && (
              <>
                Create one in <a href="/account">your account</a>.{' '}
              </>
            )}
            The operator of this server creates keys on its command line, also while it runs. A key is shown only once.
            Its tier decides the coins and routes that it may read, and its number of requests per minute.
          </p>
          <Commands lines={[`bookreel key create --tier ${tier}`]} />
          <Commands lines={['export KEY=br_live_…']} />
        </li>
        {recorded === undefined || recorded.example !== undefined ? (
          <FirstRequest coin={coin} origin={origin} />
        ) : (
          <FirstImport />
        )}
        <li class="card">
          <h2>Next steps</h2>
          <ul>
            <li>
              A page ends with <code>nextCursor</code>. To get the next page, repeat the request with{' '}
              <code>cursor=</code> that value, until it is <code>null</code>.
            </li>
            <li>
              <code>from</code>, <code>to</code> and <code>/at/{'{ts}'}</code> take Unix milliseconds or ISO 8601;
              answers have ISO 8601 UTC with milliseconds.
            </li>
            <li>
              After a 429, wait for the number of seconds in <code>Retry-After</code>. Errors are{' '}
              <code>application/problem+json</code>; <code>detail</code> says what to do.
            </li>
          </ul>
        </li>
      </ol>
      <h2>More</h2>
      <ul>
        <ApiLinks />
        <li>
          <a href={manualPath()}>The manual</a>: the interface, recordings, replay, configuration, accounts, a public
          address, limits
        </li>
        <li>
          <a href={manualPath('segments')}>The format of segments</a>, the smallest download of a market, and{' '}
          <a href="/docs/segment-reader.ts">a reader to copy</a>
        </li>
        <li>
          <code>/v1/coins</code>: the coins that a key may read, and how much is recorded of each
        </li>
        <li>
          <a href="/pricing">Pricing</a>, and <code>/v1/billing/tiers</code>: the current tiers, for any key
        </li>
        <li>
          <a href="/healthz">Liveness</a>, <a href="/readyz">readiness</a>
        </li>
      </ul>
      <p class="quiet small">Version {version}</p>
    </>
  );
  return htmlDocument({ title: 'bookreel', hasAccounts, children });
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
  return (
    <li class="card">
      <h2>Send a request</h2>
      <p>
        These commands print the latest market of <code>{coin}</code> with recorded order books, keep its name, and
        print its first two order book snapshots:
      </p>
      <Commands lines={firstCommands({ origin, tier: ALL_ROUTES, coin })} />
    </li>
  );
}
