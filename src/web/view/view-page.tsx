import { MarketFigure } from '../../http/docs/market-figure.tsx';
import type { MarketPicture, ShownMarket } from '../../http/docs/market-picture.ts';
import { assetPath } from '../../http/pages/assets.ts';
import { htmlDocument } from '../../http/pages/document.tsx';
import { maskedText } from '../../http/plugins/secret-mask.ts';
import { PlotHelp } from './plot-help.tsx';
import { viewScripts, WORKER_SCRIPT } from './view-scripts.ts';
import type { ViewTokenDeps } from './view-token.ts';

export interface ViewSettings {
  /** How scripts get data without tokens: `open`: without a key; `key`: with one that the person types. */
  readonly access: 'open' | 'key';
  /** For scripts in signed-in browsers; the person may also type a key. Undefined: there are no tokens, and no accounts. */
  readonly tokens: ViewTokenDeps | undefined;
  readonly isReplay: boolean;
  /** Undefined: visitors see no market. */
  readonly picture?: MarketPicture | undefined;
}

/** A conditionId has 66. */
const NAME_CHARS_MAX = 80;
const WAYS_ON = [
  ['/view', 'Search the recordings'],
  ['/docs/viewer', 'How to read a market'],
] as const;
const WAYS_OF_REPLAY = [
  ['/', 'Move the clock'],
  ['/#traded', 'What is traded now'],
] as const;

/** A page whose script shows recordings. It has no data itself, so it needs no key; the script reads the market from its path. `market`: the name in the path; undefined: the list. */
export function viewPage({ access, tokens, isReplay, picture: shown }: ViewSettings, market?: string): string {
  const hasAccounts = tokens !== undefined;
  const picture = shown?.shown();
  return htmlDocument({
    title: market === undefined ? 'Recordings' : 'Market',
    section: 'Recordings',
    hasAccounts,
    width: 'view',
    scripts: viewScripts(market === undefined ? 'recordings' : 'market'),
    children: (
      <>
        <noscript>
          <p class="notice">
            This page draws recordings with JavaScript, which this browser does not run. <code>bookreel show</code> and{' '}
            <code>bookreel plot</code> show them without a browser, and <a href="/docs">the API</a> has the data.
          </p>
        </noscript>
        <div
          id="view"
          tabIndex={-1}
          data-access={hasAccounts ? 'token' : access}
          data-accounts={hasAccounts ? 'true' : undefined}
          data-replay={isReplay ? 'true' : undefined}
          data-worker={assetPath(WORKER_SCRIPT)}
        />
        <template>
          <form class="key-form">
            <label class="field">
              {hasAccounts ? 'Or use a key' : 'Key'}
              <span class="hint">It is sent to this service only, and forgotten with this page.</span>
              <input
                class="input"
                type="password"
                placeholder="br_live_…"
                autocomplete="off"
                spellcheck={false}
                required
              />
            </label>
            <button class="button" type="submit">
              Use this key
            </button>
          </form>
        </template>
        {picture !== undefined && <Preview picture={picture} hasAccounts={hasAccounts} />}
        <div class="card empty way-back">
          {/* A pasted key is not repeated. */}
          {market !== undefined && (
            <p>
              <code>{maskedText(market, NAME_CHARS_MAX)}</code>
            </p>
          )}
          {isReplay ? (
            <p>A replay has a market once its clock is there: move the clock, or see what is traded now.</p>
          ) : (
            <p>
              The address of a market is <code>/view/btc/</code>, or another coin, and its slug or conditionId.
            </p>
          )}
          <p class="row">
            {(isReplay ? WAYS_OF_REPLAY : WAYS_ON).map(([href, name], nth) => (
              <a key={href} class={nth === 0 ? 'button primary' : 'button'} href={href}>
                {name}
              </a>
            ))}
          </p>
        </div>
        <div class="card why">
          <p>Order books can be recorded only while a market is traded. This service has no recording of this one.</p>
          <p class="row">
            <a href="/view">Markets with books</a> <a href="/docs/recording">How to record markets</a>
          </p>
        </div>
        <PlotHelp />
      </>
    ),
  });
}

/** The picture for visitors without a key. The style sheet shows it only next to the form for a key. */
function Preview({ picture, hasAccounts }: { readonly picture: ShownMarket; readonly hasAccounts: boolean }) {
  return (
    <aside class="preview" aria-label="A recorded market">
      <MarketFigure shown={picture} isLazy />
      <p>
        Each recorded market has such a picture on its page, to play and to zoom, with its trades and the ladder of
        every instant. {hasAccounts && <a href="/pricing">What each tier sees</a>}
      </p>
    </aside>
  );
}
