import { timeText } from '../../../domain/instant.ts';
import type { MarketSort } from '../../../domain/market-sort.ts';
import { numberText } from '../../texts.ts';
import { Choices, optionsOf } from '../choices.tsx';
import { Select } from '../select.tsx';
import type { BrowseQuery } from './browse-query.ts';
import { totalsOf } from './calendar.ts';
import { CalendarView } from './calendar-view.tsx';
import type { ConnectedKey, Connection } from './connection.ts';
import { ConnectionStatus, NoticeText } from './connection-status.tsx';
import { dateText } from './date-texts.ts';
import { Fold } from './fold.tsx';
import type { Later } from './later.ts';
import { MarketList, type MarketListContent } from './market-list.tsx';
import { pageNowMs, stateNow } from './page-now.ts';
import type { Recordings } from './recordings.ts';
import type { ReplayClock } from './replay-clock.ts';
import type { Notice, RequestRefused } from './request-refused.ts';
import { SearchField } from './search-field.tsx';
import { ToolButton } from './tool-button.tsx';
import { countText } from './view-texts.ts';

const ALL = 'all';

interface BrowsePageContent {
  readonly connection: Connection;
  readonly recordings: Recordings;
  readonly later: Later;
  /** Undefined: this process does not replay. */
  readonly clock: ReplayClock | undefined;
}

/** The recordings: a coin, a timeframe, a calendar, and the list of markets. */
export function BrowsePage(content: BrowsePageContent) {
  const { connection, recordings, clock } = content;
  const { value: state } = connection.state;
  const notes = tierNotes(connection, state.kind === 'ready' ? state.connected : undefined);
  return (
    <>
      <div class="row spread view-head">
        <h1>Recordings {clock !== undefined && <ShownClock clock={clock} />}</h1>
        {state.kind !== 'closed' && <ConnectionStatus connection={connection} />}
      </div>
      {state.kind === 'closed' && <ConnectionStatus connection={connection} />}
      {notes.map((notice) => (
        <NoticeText key={notice.sentence} notice={notice} />
      ))}
      <Failure recordings={recordings} />
      <RecordedMarkets {...content} />
    </>
  );
}

/** The instant that the list is as of. */
function ShownClock({ clock: { shown } }: { readonly clock: ReplayClock }) {
  if (shown.value === undefined) return null;
  return <span class="badge warn">replay at {shown.value.now.slice(0, 19).replace('T', ' ')} UTC</span>;
}

/** Why the last request failed. */
function Failure({ recordings }: { readonly recordings: Recordings }) {
  const { value: failure } = recordings.failure;
  // The form for a key shows this refusal.
  if (failure === undefined || failure.status === 401 || failure.kind === 'not-connected') return null;
  // It is the title of what is offered in place of the list.
  if (recordings.refusal !== undefined) return null;
  return (
    <div class="notice bad row" role="alert">
      <p>
        {failure.message} {failure.link !== undefined && <a href={failure.link.href}>{failure.link.text}</a>}
      </p>
      {failure.status !== 404 && <ToolButton onClick={() => recordings.retry()}>Try again</ToolButton>}
    </div>
  );
}

function RecordedMarkets({ connection, recordings, later, clock }: BrowsePageContent) {
  const { value: state } = connection.state;
  const { value: coins } = recordings.coins;
  const { value: days } = recordings.days;
  const { value: list } = recordings.markets;
  const { date, search, timeframe, replay } = recordings.query.value;
  // Only the windows of markets are known at an earlier instant.
  const isAsOf = clock !== undefined || replay !== undefined || (state.kind === 'ready' && !!state.connected?.key.asOf);
  if (coins === undefined) return null;
  const { coin } = recordings;
  if (coin === undefined) {
    return <p class="notice">Nothing is recorded here that this key may see: import recordings, or use another key.</p>;
  }
  if (recordings.refusal !== undefined) return <Refused recordings={recordings} refusal={recordings.refusal} />;
  const marketHref = (market: { readonly symbol: string; readonly slug: string }) =>
    `/view/${market.symbol}/${market.slug}${replay === undefined ? '' : `?replay=${encodeURIComponent(replay)}`}`;
  return (
    <div class="browse-page">
      <div class="row browse-choices">
        <Choices
          label="Coin"
          options={[
            ...(search === '' ? [] : [['', 'All'] as const]),
            ...coins.map(({ symbol }) => [symbol, symbol.toUpperCase()] as const),
          ]}
          // A search is of all coins.
          chosen={search === '' ? coin : ''}
          choose={(symbol) => recordings.choose({ coin: symbol, timeframe: undefined, date: '', search: '' })}
        />
        <Choices
          label="Timeframe"
          options={[[ALL, 'All'], ...recordings.timeframes.map((name) => [name, name] as const)]}
          chosen={timeframe ?? ALL}
          choose={(name) => recordings.choose({ timeframe: name === ALL ? undefined : name })}
        />
        <SearchField search={search} choose={(text) => recordings.choose({ search: text, date: '' })} later={later} />
        <Fold summary={isFiltered(recordings.query.value) ? 'Filters (in use)' : 'Filters'}>
          <Filters recordings={recordings} canSort={!isAsOf} />
        </Fold>
      </div>
      <div class={search === '' ? 'browse' : 'browse found'}>
        {search === '' && (
          <Fold summary="Calendar">
            <aside class="card" aria-label="Calendar">
              {days !== undefined && days.length > 0 ? (
                <CalendarView
                  key={`${coin} ${timeframe}`}
                  days={days}
                  chosen={date}
                  choose={(chosen) => recordings.choose({ date: chosen, search: '' })}
                />
              ) : (
                <p class="quiet">{days === undefined ? 'Loading the days …' : 'No day has markets.'}</p>
              )}
            </aside>
          </Fold>
        )}
        <section aria-labelledby="list-title">
          <div class="row spread">
            <h2 id="list-title" aria-live="polite">
              {titleOf(recordings)}
            </h2>
            {date !== '' && <ToolButton onClick={() => recordings.choose({ date: '' })}>All days</ToolButton>}
          </div>
          {list && (
            <Listed
              recordings={recordings}
              list={list}
              href={marketHref}
              stateOf={(market) => stateNow(market, connection, clock)}
              nowMs={() => pageNowMs(connection, clock)}
            />
          )}
        </section>
      </div>
    </div>
  );
}

/** Why there is no list, and the coins that have one. */
function Refused({ recordings, refusal }: { readonly recordings: Recordings; readonly refusal: RequestRefused }) {
  const { message, status, link } = refusal;
  const coin = recordings.coin!.toUpperCase();
  // Pages have typographic quotes.
  const sentence = message.replace(/'(.*?)'/g, '“$1”');
  return (
    <section class="card empty">
      <div role="alert">
        <h2>
          {status === 404 ? `No markets of a coin “${coin}” are recorded here` : sentence.replace('this coin', coin)}
        </h2>
      </div>
      <p>These coins have markets:</p>
      <CoinButtons recordings={recordings} coins={recordings.coins.value!} />
      {link !== undefined && (
        <p>
          <a href={link.href}>{link.text}</a>
        </p>
      )}
    </section>
  );
}

/** A list, or a sentence that it is empty. */
function Listed(content: MarketListContent) {
  const { recordings, list } = content;
  // The first page of a search shows whether there is any market.
  recordings.changes.value;
  if (list.count === 0) {
    const isSearch = recordings.query.value.search !== '';
    const coins = recordings.coins.value!.filter(({ recordedMarkets }) => isSearch && recordedMarkets > 0);
    return (
      <div class="card empty">
        <p>{nothingText(recordings.query.value)}</p>
        {isSearch && (
          <p class="quiet small">
            A search finds a coin, like btc; a part of a slug, like 5m or the Unix second at which a market begins; and
            the beginning of an ID, like 0x4f.
          </p>
        )}
        {isSearch && coins.length > 0 && <p>Coins with recorded books:</p>}
        <CoinButtons
          recordings={recordings}
          text={isSearch ? '' : 'All markets of'}
          coins={coins.length > 0 ? coins : [{ symbol: recordings.coin! }]}
        />
      </div>
    );
  }
  return <MarketList {...content} />;
}

interface CoinButtonsContent {
  readonly recordings: Recordings;
  /** The beginning of a button's text, before the coin. */
  readonly text?: string;
  readonly coins: readonly { readonly symbol: string }[];
}

/** Ways from an empty list: coins without filters. */
function CoinButtons({ recordings, text = '', coins }: CoinButtonsContent) {
  return (
    <p class="row">
      {coins.map(({ symbol }) => (
        <ToolButton
          key={symbol}
          onClick={() => recordings.choose({ ...NO_FILTERS, coin: symbol, date: '', search: '', timeframe: undefined })}
        >
          {text} {symbol.toUpperCase()}
        </ToolButton>
      ))}
    </p>
  );
}

/** The title of the list, with the number of its markets and of the recorded ones: of a search those that it finds, else all of the days. */
function titleOf(recordings: Recordings): string {
  const { date, search, timeframe = '' } = recordings.query.value;
  const days = `${`${recordings.coin!.toUpperCase()} ${timeframe}`.trim()}, ${date === '' ? 'all days' : dateText(date)}`;
  // The first page of a search counts it, and has its days.
  recordings.changes.value;
  const day = recordings.onlyDay === undefined ? '' : `, ${dateText(recordings.onlyDay)}`;
  const what = search === '' ? days : `“${search}” in coin, slug or ID${day}`;
  const counts = search === '' ? recordings.days.value && totalsOf(recordings.days.value, date) : recordings.found;
  if (counts === undefined) return what;
  const { markets: all, recordedMarkets } = counts;
  if (all === 0) return `${what}: no markets`;
  const recorded = recordedMarkets === all ? 'all' : recordedMarkets === 0 ? 'none' : numberText(recordedMarkets);
  return `${what}: ${countText(all, 'market')}, ${recorded} recorded`;
}

const NO_FILTERS = { recorded: undefined, winner: undefined, gaps: undefined, volumeMin: undefined } as const;
const VOLUMES = [1000, 10_000, 100_000, 1_000_000];
const SORTS: readonly (readonly [MarketSort, string])[] = [
  ['books', 'latest first, nearly empty last'],
  ['-window', 'latest first'],
  ['window', 'earliest first'],
  ...(['slug', 'winner', 'strike', 'final', 'snapshots', 'recorded', 'volume'] as const).flatMap((name) => [
    [`-${name}`, `${name} ↓`] as const,
    [name, `${name} ↑`] as const,
  ]),
];

function isFiltered(query: BrowseQuery): boolean {
  return Object.keys(NO_FILTERS).some((name) => query[name as keyof typeof NO_FILTERS] !== undefined);
}

/** The filters of the list, and its order. */
function Filters({ recordings, canSort }: { readonly recordings: Recordings; readonly canSort: boolean }) {
  const query = recordings.query.value;
  const { winner, gaps, volumeMin, sort } = query;
  return (
    <div class="row filters small">
      <Select
        label="Books"
        options={optionsOf({ yes: 'recorded', no: 'without', all: 'all' })}
        chosen={recordings.recorded}
        choose={(recorded) => recordings.choose({ recorded })}
      />
      <Select
        label="Gaps"
        options={optionsOf({ '': 'any', false: 'none', true: 'with gaps' })}
        chosen={gaps === undefined ? '' : `${gaps}`}
        choose={(text) => recordings.choose({ gaps: text === '' ? undefined : text === 'true' })}
      />
      {canSort && (
        <>
          <Select
            label="Winner"
            options={optionsOf({ '': 'any', up: 'up', down: 'down' })}
            chosen={winner ?? ''}
            choose={(name) => recordings.choose({ winner: name === '' ? undefined : name })}
          />
          <Select
            label="Volume"
            options={[
              ['', 'any'],
              ...VOLUMES.map((least) => [String(least), `at least $${numberText(least)}`] as const),
            ]}
            chosen={String(volumeMin ?? '')}
            choose={(text) => recordings.choose({ volumeMin: text === '' ? undefined : Number(text) })}
          />
          <Select label="Sort" options={SORTS} chosen={sort} choose={(order) => recordings.choose({ sort: order })} />
        </>
      )}
      {isFiltered(query) && <ToolButton onClick={() => recordings.choose(NO_FILTERS)}>Clear filters</ToolButton>}
    </div>
  );
}

function nothingText(query: BrowseQuery): string {
  const { search, date } = query;
  if (isFiltered(query)) {
    return 'No market matches these filters: clear them, or choose other ones.';
  }
  if (search !== '') {
    return `No market matches “${search}”.`;
  }
  return date === ''
    ? 'No markets are recorded here: choose another timeframe.'
    : `No market begins in ${dateText(date)}: choose a day with markets.`;
}

/** The routes that the browse page and the page of a market need, and what they show. */
const SHOWN = [
  ['quotes', 'The list has no midpoints.'],
  ['snapshots', 'The pages of markets show no books.'],
] as const;

/** Sentences about data that a key does not show in the list of recordings: late data, midpoints, markets. */
function tierNotes(
  connection: Pick<Connection, 'grants' | 'missingGrant'>,
  connected: ConnectedKey | undefined,
): Notice[] {
  if (connected === undefined) return [];
  const { key } = connected;
  const notes: Notice[] = [];
  if (key.asOf !== null) {
    const sentence = `Your key shows what was recorded until ${timeText(Date.parse(key.asOf))}.`;
    notes.push({ sentence, link: undefined });
  }
  for (const [route, consequence] of SHOWN) {
    if (!connection.grants(route)) notes.push(connection.missingGrant(route, consequence));
  }
  return notes;
}
