import { useSignal } from '@preact/signals';
import { directionOf } from '../../../domain/settlement.ts';
import { ConnectionStatus, NoticeText } from './connection-status.tsx';
import type { Explorer, MarketContent } from './explorer.ts';
import { Ladders } from './ladders.tsx';
import { ColourTools } from './legend.tsx';
import { MarketPicture } from './market-picture.tsx';
import type { MarketPlot } from './market-plot.ts';
import type { Neighbours } from './market-reader.ts';
import { clockText, coverageText, distanceText, exactText, marketTitle } from './market-texts.ts';
import { stateNow } from './page-now.ts';
import { PictureTools } from './picture-tools.tsx';
import { DAY_MS } from './plot-band.ts';
import { priceText } from './price-text.ts';
import { priceAt } from './reference-prices.ts';
import { Scrubber } from './scrubber.tsx';
import { Share } from './share.tsx';
import { withReplay } from './view-address.ts';
import { countText } from './view-texts.ts';

/** The place of the volume among the figures of a market: it has no distance from the strike, which is the first one. */
const VOLUME = 3;

/** A recorded market: its books over time, and the ladder at an instant. */
export function MarketExplorer({ explorer }: { readonly explorer: Explorer }) {
  const shown = explorer.shown.value;
  const plot = useSignal<MarketPlot | undefined>(undefined);
  const { connection, hasBooks } = explorer;
  const hasPicture = explorer.hasPicture.value;
  return (
    <div class={shown && (hasPicture ? 'market-view' : 'market-view bare')}>
      <div>
        <div class="row spread market-nav">
          {shown === undefined ? (
            <h1>{document.title.split(' · ')[0]}</h1>
          ) : (
            <>
              <MarketNav explorer={explorer} shown={shown} />
              <Share explorer={explorer} shown={shown} plot={plot.value} />
            </>
          )}
          <ConnectionStatus connection={connection} />
        </div>
        {[explorer.tierNotice.value, explorer.notice.value].map(
          (notice) => notice && <NoticeText key={notice.sentence} notice={notice} />,
        )}
        {shown !== undefined && <MarketHead explorer={explorer} shown={shown} />}
        {shown !== undefined && !hasPicture && <Recorded explorer={explorer} shown={shown} />}
      </div>
      {shown !== undefined && (
        <>
          {hasPicture && (
            <div class="card picture">
              <PictureTools explorer={explorer} shown={shown} />
              <MarketPicture explorer={explorer} shown={shown} plot={plot} />
              <Scrubber explorer={explorer} shown={shown} plot={plot.value} />
            </div>
          )}
          {hasBooks.value && <Ladders explorer={explorer} shown={shown} />}
          {hasBooks.value && <ColourTools state={shown.state} />}
        </>
      )}
    </div>
  );
}

/** The title of a market, what is recorded of it, and its figures. */
function MarketHead({ explorer, shown }: MarketContent) {
  const { market, coverage } = shown;
  return (
    <div class="row spread market-head">
      <div>
        <h1>{marketTitle(market)}</h1>
        <p class="quiet small">
          <span class="slug">
            <code>{market.slug}</code> ·{' '}
          </span>
          {coverageText(coverage)}
          {explorer.isLocal.value && <span class="hidden">, read in this browser</span>}
        </p>
      </div>
      <MarketFigures explorer={explorer} shown={shown} />
      <MarketStatus explorer={explorer} shown={shown} />
    </div>
  );
}

/** Its text is the title of the market; if it has another `text`, the title is shown at a pointer. */
function linkTo(to: Neighbours['previous'], text = to && marketTitle(to)) {
  return (
    to && (
      <a href={`/view/${to.symbol}/${to.slug}${withReplay('')}`} title={marketTitle(to)}>
        {text}
      </a>
    )
  );
}

/** Links to the list at the market's day, and to the recorded markets before and after it. */
function MarketNav({ explorer, shown: { market } }: MarketContent) {
  const { previous, next } = explorer.neighbours.value;
  const { symbol, timeframe, startTime } = market;
  const day = withReplay(`?coin=${symbol}&tf=${timeframe}&date=${startTime.slice(0, 'YYYY-MM-DD'.length)}`);
  return (
    <nav class="row small" aria-label="Markets">
      <a href={`/view${day}`}>
        All<span class="wide"> recordings of the day</span>
      </a>
      {explorer.hasPicture.value && [linkTo(previous, '‹ Previous'), linkTo(next, 'Next ›')]}
    </nav>
  );
}

/** For a market without a picture: the nearest markets of its coin and timeframe that have books, and how far they are, if it is a day or more. */
function Recorded({ explorer, shown: { state } }: MarketContent) {
  const { previous, next } = explorer.neighbours.value;
  const far = (market: Neighbours['next'], direction: string) => {
    const days = Math.floor(Math.abs(Date.parse(market?.startTime ?? '') - state.startMs) / DAY_MS);
    return (
      <p class="row">
        {linkTo(market)}
        {days > 0 && `${countText(days, 'day')} ${direction}`}
      </p>
    );
  };
  return (
    <section class="card empty">
      <h2>No book is recorded</h2>
      {far(previous, 'earlier')}
      {far(next, 'later')}
    </section>
  );
}

/** The prices that decide the market, and how far from the strike the coin is at the instant. Nothing without prices. */
function MarketFigures({ explorer, shown: { market, state } }: MarketContent) {
  const { name, reference, strike, final } = explorer.coin.value;
  const tick = reference && priceAt(reference, state.atMs.value);
  const figures = [
    ['Strike', strike],
    [tick && `${name}, ${clockText(tick.timestampMs, state.startMs).slice(0, -4)}`, tick?.price],
    ['Final price', final ?? (market.winner !== null && strike !== undefined ? 'not recorded' : null)],
    ['Volume ($)', explorer.hasPicture.value ? null : market.volume],
  ] as const;
  return (
    <dl class="row figures">
      {figures.map(
        ([title, price], nth) =>
          price != null && (
            <div key={nth} class="figure">
              <dt>{title}</dt>
              {typeof price === 'number' ? (
                <dd title={exactText(price)}>
                  {priceText(price)}{' '}
                  {nth % VOLUME > 0 && strike !== undefined && (
                    <span class={`outcome ${directionOf(strike, price)}`}>{distanceText(price, strike)}</span>
                  )}
                </dd>
              ) : (
                <dd class="quiet">{price}</dd>
              )}
            </div>
          ),
      )}
    </dl>
  );
}

/** The state of the market. */
function MarketStatus({ explorer, shown: { market } }: MarketContent) {
  const state = stateNow(market, explorer.connection, explorer.clock);
  return (
    <span class={`badge ${state}`}>
      {state === 'open'
        ? `open until ${market.endTime.slice(11, 16)} UTC`
        : state === 'over'
          ? 'result not recorded'
          : `${state} won`}
    </span>
  );
}
