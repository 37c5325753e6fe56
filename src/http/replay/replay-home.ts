import { Type } from 'typebox';
import { countText } from '../../domain/count-text.ts';
import { formatInstant } from '../../domain/instant.ts';
import type { PaperAccount } from '../../paper/paper-account.ts';
import type { Replay } from '../../replay/replay.ts';
import type { StoredMarket } from '../../store/markets.ts';
import type { HomePage } from '../docs/site.ts';
import { personalPageHeaders } from '../pages/page-headers.ts';
import { originOf } from '../request-origin.ts';
import { prefersHtml } from '../response/accept.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { accountSummary } from './account-resource.ts';
import { examplePath, tradedMarkets } from './example-path.ts';
import { recordedPart } from './recorded-part.ts';
import { recordedPath } from './recorded-path.ts';
import { addressesOf, type ReplayCommands, replayHomePage } from './replay-home-page.tsx';
import { NAMED_MAX, type ReplaysAndDesks, replayResource, ShownReplay } from './replay-resource.ts';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const TARDIS_EXAMPLE_MS = 60_000;
const DESCRIPTION =
  'Recorded order books, replayed as if they were live: clients never get data that is later than the clock.';

const ReplayHome = Type.Object(
  {
    name: Type.String({ description: 'bookreel replay.' }),
    version: Type.String({ description: 'Version of the program.' }),
    description: Type.String({ description: 'The purpose of this process.' }),
    authentication: Type.String({ description: 'How a key is sent, or that none is needed.' }),
    replays: Type.Optional(Type.Array(ShownReplay, { description: 'The replays; left out where keys are needed.' })),
    addresses: Type.Record(Type.String(), Type.Unknown(), { description: 'Addresses for bots.' }),
    links: Type.Record(Type.String(), Type.String(), { description: 'Paths of pages, by subject.' }),
  },
  { $id: 'ReplayHome', description: 'A process that replays, and its addresses.' },
);

const LINKS = { docs: '/docs', openapi: '/openapi.json', llms: '/llms.txt', health: '/healthz', ready: '/readyz' };

/** The slider of a replay: the part of its time that the clock is in, since recordings may be months apart. */
function sliderOf({ clock, recordedSpans }: Replay) {
  const part = recordedPart({ clock, recordedSpans });
  return {
    ...part,
    recorded: recordedPath(part, recordedSpans),
    all: recordedPath(clock.span, recordedSpans),
    shown: recordedPath(clock.span, [part]),
  };
}

/**
 * `/` of a process that replays: a page for people, JSON for programs. Where keys are needed it has the addresses only, because
 * the replays themselves are for callers with a key.
 */
export function replayHome(
  version: string,
  { needsKeys, ...deps }: ReplaysAndDesks & { readonly needsKeys: boolean },
): HomePage {
  const { replays } = deps;
  const answer = (request: Request, set: ResponseSettings) => {
    const origin = originOf(request);
    const list = replays.list();
    const shown = needsKeys ? undefined : list.map((replay) => shownReplay(deps, replay));
    const headers = { ...NO_STORE, vary: 'Accept' };
    if (prefersHtml(request.headers.get('accept') ?? '')) {
      const commands = needsKeys ? keyedCommands(origin) : openCommands(origin, list[0]);
      const addresses = addressesOf(origin);
      const cards = shown?.map((one, at) => ({ ...one, slider: sliderOf(list[at]!) }));
      const page = replayHomePage({ version, description: DESCRIPTION, addresses, shown: cards, commands });
      return respond(set, page, { ...personalPageHeaders(), ...headers });
    }
    const authentication = needsKeys
      ? "Every address needs the header 'Authorization: Bearer <API_KEY>' with a key whose tier grants replay."
      : 'No key is needed on this machine.';
    const about = { name: 'bookreel replay', version, description: DESCRIPTION, authentication };
    return respondJson(set, { ...about, replays: shown, addresses: addressesOf(origin), links: LINKS }, headers);
  };
  return { answer, schema: ReplayHome };
}

function shownReplay(deps: ReplaysAndDesks, replay: Replay): ShownReplay {
  const { archive } = replay;
  const traded = archive.database.readShared(() => tradedMarkets(replay).take(NAMED_MAX).toArray().sort(byCoinAndEnd));
  const accounts = deps.desks.of(replay)?.accounts().slice(-NAMED_MAX) ?? [];
  return {
    ...replayResource(deps, replay),
    traded: traded.map(({ slug, conditionId }) => slug ?? conditionId),
    pages: traded.map((market) => pageOf(market, replay)),
    accounts: accounts.map(accountLine),
  };
}

function byCoinAndEnd(a: StoredMarket, b: StoredMarket): number {
  return a.symbol.localeCompare(b.symbol) || a.endMs - b.endMs;
}

/** The page of a market, at the clock of a replay. */
function pageOf({ symbol, timeframe, slug, conditionId, endMs }: StoredMarket, { id, clock }: Replay) {
  const [end, now] = [endMs, clock.nowMs].map(formatInstant) as [string, string];
  const day = end.slice(0, 10) === now.slice(0, 10) ? '' : `, ${DAY.format(endMs)}`;
  return {
    href: `/view/${symbol}/${slug ?? conditionId}?replay=${id}`,
    name: `${symbol.toUpperCase()} ${timeframe} · to ${end.slice(11, 16)}${day}`,
  };
}

function accountLine(account: PaperAccount): string {
  const { address, cash, realised, openOrders, orders } = accountSummary(account);
  return `${address}: ${cash} dollars, ${realised} realised, ${openOrders} of ${countText(orders, 'order')} open`;
}

/** Commands to copy; each works without a change. */
function openCommands(origin: string, first: Replay | undefined): ReplayCommands {
  const replayCommand = (verb: string) => `bookreel replay ${verb} --url '${origin}'`;
  const create = replayCommand('create --speed 10 --paused');
  if (first === undefined) return { ask: [`curl '${origin}/v1/replays'`], steer: [create] };
  const { id, clock, options, archive } = first;
  const from = new Date(clock.nowMs).toISOString();
  const to = new Date(clock.nowMs + TARDIS_EXAMPLE_MS).toISOString();
  const tardis = JSON.stringify({ exchange: 'polymarket', from, to, dataTypes: ['trade', 'quote_10s'] });
  const example = archive.database.readShared(() => examplePath(first));
  return {
    ask: [
      // Without a traded market the example is the list of replays.
      ...new Set([
        `curl '${origin}${example}'`,
        `curl '${origin}/gamma/markets?limit=1'`,
        `curl '${origin}/v1/replays'`,
      ]),
      `curl -sG '${origin}/replay-normalized' --data-urlencode 'options=${tardis}'`,
    ],
    steer: [
      ...['pause', `seek ${from}`, 'step', `speed ${options.speed}`, 'resume'].map(replayCommand),
      create,
      `curl -X PATCH '${origin}/v1/replays/${id}' -d '{"paused":true}'`,
    ],
  };
}

/** The same with a key, which the reader puts into a variable and a file. */
function keyedCommands(origin: string): ReplayCommands {
  const curl = 'curl -H "Authorization: Bearer $BOOKREEL_KEY"';
  const options = `--url '${origin}' --key-file KEY_FILE`;
  return {
    ask: [`${curl} '${origin}/v1/replays'`, `${curl} '${origin}/gamma/markets?limit=1'`],
    steer: ['create --speed 10', 'list'].map((verb) => `bookreel replay ${verb} ${options}`),
  };
}
