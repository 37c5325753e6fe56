import { Fragment } from 'preact';
import { DEFAULT_TIERS, grantsCoin, type Tier } from '../../domain/tier.ts';
import { ApiLinks } from '../pages/api-links.tsx';
import { COPY_SCRIPT } from '../pages/assets.ts';
import { Commands } from '../pages/commands.tsx';
import { Copyable } from '../pages/copyable.tsx';
import { htmlDocument } from '../pages/document.tsx';
import { manualPath } from '../pages/manual-menu.tsx';
import { firstCommands } from './first-commands.ts';
import { MarketFigure } from './market-figure.tsx';
import type { MarketPicture, ShownMarket } from './market-picture.ts';

/** The recordings that the commands ask for. */
interface Example {
  /** A coin with order books. */
  readonly coin: string;
  /** A tier that may read them. */
  readonly tier: Tier;
  /** The tier of the reader's first key. */
  readonly keyTier: Tier;
}

/** The recordings that the page mentions. */
export interface Recorded {
  /** By name. */
  readonly coins: readonly string[];
  /** Undefined where nothing of that kind is recorded. */
  readonly example: Example | undefined;
  /** The market to show; undefined: none. */
  readonly picture: ShownMarket | undefined;
  /** A request for a book of that market, and the lines of its answer. */
  readonly sample: ReturnType<MarketPicture['sample']>;
}

interface QuickStart {
  readonly version: string;
  /** The origin of this service in the reader's browser. */
  readonly origin: string;
  /** Undefined while the archive cannot be read. */
  readonly recorded: Recorded | undefined;
  readonly hasAccounts: boolean;
  /** The address of the person who is signed in; undefined: nobody is. */
  readonly email: string | undefined;
}

/** The page at `/`: a recorded market, how to get a key, commands to paste, and ways for each kind of reader. It names no market of this service but the one of the picture: keys are needed for the others. */
export function quickStartPage({ version, origin, recorded, hasAccounts, email }: QuickStart): string {
  const [free, starter] = DEFAULT_TIERS as [Tier, Tier];
  const example =
    recorded === undefined ? { coin: 'btc', tier: starter, keyTier: hasAccounts ? free : starter } : recorded.example;
  const children = (
    <>
      <div class="hero">
        <div>
          <h1>Order books of up‑or‑down markets, exactly as recorded</h1>
          {recorded !== undefined && recorded.coins.length > 0 && <Coins coins={recorded.coins} />}
        </div>
        <div>
          <p class="lead">
            One HTTP API has every recorded book of these prediction markets, to the millisecond, and every gap. With{' '}
            <code>asOf</code> no answer has anything later: a backtest cannot look ahead.
          </p>
          <p class="row">
            {(email === undefined ? VISITOR_ACTIONS : PERSON_ACTIONS)
              .filter(([href]) => hasAccounts || !OF_ACCOUNTS.test(href))
              .map(([href, name], nth) => (
                <a key={href} class={nth === 0 && hasAccounts ? 'button primary' : 'button'} href={href}>
                  {name}
                </a>
              ))}
          </p>
        </div>
      </div>
      {recorded?.picture !== undefined && <MarketFigure shown={recorded.picture} />}
      {recorded?.sample !== undefined && <Sample {...recorded.sample} />}
      <Ways hasAccounts={hasAccounts} isSignedIn={email !== undefined} />
      <h2>Start</h2>
      <ol class="steps">
        <li class="card">
          <h2>{email === undefined ? 'Get a key' : 'Take a key'}</h2>
          <p>
            {email !== undefined ? (
              <>
                Take one of <a href="/account/keys">your keys</a>, or <a href="/account/keys/new">create one</a>.
              </>
            ) : hasAccounts ? (
              <>
                Create one in <a href="/account">your account</a>.
              </>
            ) : (
              'The operator of this server creates keys on its command line, also while it runs.'
            )}{' '}
            A key is shown only once. Its tier decides the coins and routes that it may read, and its number of requests
            per minute.
          </p>
          {!hasAccounts && <Commands lines={[`bookreel key create --tier ${(example?.tier ?? starter).id}`]} />}
          <Commands lines={['export BOOKREEL_KEY=br_live_…']} />
        </li>
        {example === undefined ? <FirstImport /> : <FirstRequests {...example} origin={origin} />}
      </ol>
      <p class="quiet small">Version {version}</p>
    </>
  );
  return htmlDocument({ title: 'bookreel', hasAccounts, email, scripts: [COPY_SCRIPT], children });
}

/** A request, which breaks between its parts, and its answer. */
function Sample({ path, answer }: NonNullable<Recorded['sample']>) {
  return (
    <section class="card">
      <h2>Ask for the book at any instant</h2>
      <p class="commands sample">
        <code>
          GET{' '}
          {path.split(/(?<=[/?&])/).map((part, nth) => (
            <Fragment key={nth}>
              {nth > 0 && <wbr />}
              {part}
            </Fragment>
          ))}
        </code>
      </p>
      <p class="commands sample">
        <samp>{answer.join('\n')}</samp>
      </p>
    </section>
  );
}

type Links = readonly (readonly [href: string, name: string])[];

const OF_ACCOUNTS = /^\/(?:account|sign-in)/;
/** The next steps of a visitor, and of a person who is signed in. */
const VISITOR_ACTIONS: Links = [
  ['/account/keys/new', 'Get a key'],
  ['/view', 'See the recordings'],
];
const PERSON_ACTIONS: Links = [
  ['/view', 'Recordings'],
  ['/account/keys', 'Your keys'],
  ['/account', 'Overview'],
];
const WAYS: Readonly<Record<string, Links>> = {
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
function Ways({ hasAccounts, isSignedIn }: { readonly hasAccounts: boolean; readonly isSignedIn: boolean }) {
  return (
    <div class="cards">
      {Object.entries(WAYS).map(([heading, links]) => (
        <section key={heading} class="card">
          <h2>{heading}</h2>
          <ul>
            {heading === 'Customers' && <ApiLinks />}
            {links
              .filter(([href]) => (hasAccounts || !OF_ACCOUNTS.test(href)) && !(isSignedIn && href === '/sign-in'))
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
    <p class="row coins">
      <span class="quiet">Coins:</span>
      {coins.map((coin) => (
        <span key={coin} class="badge accent">
          {coin.toUpperCase()}
        </span>
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

/** Commands that the reader's first key may send, and those for order books where it needs a higher tier. */
function FirstRequests({ coin, tier, keyTier, origin }: Example & Pick<QuickStart, 'origin'>) {
  const own = firstCommands({ origin, tier: keyTier, coin: grantsCoin(keyTier, coin) ? coin : undefined });
  const [markets, ...books] = firstCommands({ origin, tier, coin });
  const hasBooks = own.length > 1;
  return (
    <>
      <li class="card">
        <h2>Send a request</h2>
        <p>
          {own[0] === markets ? (
            <>
              {hasBooks ? 'The first' : 'This'} command prints the latest market of <code>{coin}</code> with recorded
              order books
              {hasBooks && '; the others keep its name, and print its first two order book snapshots'}:
            </>
          ) : (
            'This command shows that the key works:'
          )}
        </p>
        <Copyable id="first-request" label="Copy" text={own[0]!} />
        {hasBooks && <Copyable id="first-books" label="Copy" text={books.join('\n')} />}
      </li>
      {!hasBooks && (
        <li class="card">
          <h2>Read order books</h2>
          <p>
            They need a tier that has them, such as <a href="/pricing">{tier.name}</a>. These commands print the first
            two order book snapshots of that market:
          </p>
          <Copyable
            id="first-books"
            label="Copy"
            text={(own[0] === markets ? books : [markets!, ...books]).join('\n')}
          />
        </li>
      )}
    </>
  );
}
