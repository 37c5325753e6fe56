import { formatInstant, timeText } from '../../domain/instant.ts';
import { MarketFigure } from '../../http/docs/market-figure.tsx';
import type { MarketPicture, ShownMarket } from '../../http/docs/market-picture.ts';
import { assetPath } from '../../http/pages/assets.ts';
import { htmlDocument } from '../../http/pages/document.tsx';
import { maskedText } from '../../http/plugins/secret-mask.ts';
import { isWindowStart, type SlugWindow, windowOfSlug } from '../../venue/slug.ts';
import { marketTitle } from '../browser/view/market-texts.ts';
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
const WAYS_OF_REPLAY = [['/#traded', 'What is traded now']] as const;

interface ViewContent extends ViewSettings {
  /** The address of the person who is signed in; undefined: nobody is. */
  readonly email: string | undefined;
  /** The id of the replay of the page; undefined: the first one. */
  readonly replay: string | undefined;
}

/**
 * A page whose script shows recordings. It has no data itself, so it needs no key; the script reads the market from its path, and its name from the
 * title. `market`: the name in the path; undefined: the list.
 */
export function viewPage(content: ViewContent, market?: string): string {
  const { access, tokens, isReplay, picture: shown, email, replay } = content;
  const hasAccounts = tokens !== undefined;
  const picture = shown?.shown();
  const window = market === undefined ? undefined : windowIn(market);
  // A pasted key is not repeated.
  const name = market === undefined ? undefined : maskedText(market, NAME_CHARS_MAX);
  const title = window === undefined ? name : titleOf(window);
  return htmlDocument({
    title: title ?? 'Recordings',
    section: 'Recordings',
    hasAccounts,
    email,
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
        {picture !== undefined && <Preview picture={picture} market={market} hasAccounts={hasAccounts} />}
        <div class="card empty way-back">
          {name !== title && (
            <p>
              <code>{name}</code>
            </p>
          )}
          <div class="row">
            {isReplay && window !== undefined && <MoveClock {...{ window, replay, market: market! }} />}
            {(isReplay ? WAYS_OF_REPLAY : WAYS_ON).map(([href, name], nth) => (
              <a key={href} class={nth === 0 && !(isReplay && window) ? 'button primary' : 'button'} href={href}>
                {name}
              </a>
            ))}
          </div>
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

interface MoveClockContent extends Pick<ViewContent, 'replay'> {
  readonly window: SlugWindow;
  readonly market: string;
}

/** A button that moves the clock of a replay to the start of a window, and shows the page of its market again. */
function MoveClock({ window: { symbol, startMs }, market, replay }: MoveClockContent) {
  const page = `/view/${symbol}/${market}${replay === undefined ? '' : `?replay=${replay}`}`;
  return (
    <form method="post" action="/">
      <input type="hidden" name="replay" value={replay ?? ''} />
      <input type="hidden" name="page" value={page} />
      <button class="button primary" type="submit" name="now" value={String(startMs)}>
        Move the clock to <span class="nowrap">{timeText(startMs)}</span>
      </button>
    </form>
  );
}

/** Undefined for a slug that no market can have: a heading would make one of it. */
function windowIn(slug: string): SlugWindow | undefined {
  const window = windowOfSlug(slug);
  return window !== undefined && isWindowStart(window.timeframe, window.startMs) ? window : undefined;
}

function titleOf({ startMs, endMs, ...window }: SlugWindow): string {
  return marketTitle({ ...window, startTime: formatInstant(startMs), endTime: formatInstant(endMs) });
}

interface PreviewContent {
  readonly picture: ShownMarket;
  /** The name of the page's market; undefined: it is of the list. */
  readonly market: string | undefined;
  readonly hasAccounts: boolean;
}

/** The picture for visitors without a key. The style sheet shows it only next to the form for a key. */
function Preview({ picture, market, hasAccounts }: PreviewContent) {
  return (
    <aside class="preview" aria-label="A recorded market">
      <MarketFigure shown={picture} isBeside isOfPage={market === picture.market.slug} />
      <p>
        Each recorded market has such a picture on its page, to play and to zoom, with its trades and the ladder of
        every instant. {hasAccounts && <a href="/pricing">What each tier sees</a>}
      </p>
    </aside>
  );
}
