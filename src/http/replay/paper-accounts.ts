import { Elysia, t } from 'elysia';
import { type Static, Type } from 'typebox';
import { DomainError } from '../../domain/errors.ts';
import { PAGE_LIMIT_MAX } from '../../domain/page.ts';
import { MICROS, microsOf } from '../../paper/micros.ts';
import type { PaperAccount } from '../../paper/paper-account.ts';
import type { Replay } from '../../replay/replay.ts';
import type { StoredMarket } from '../../store/markets.ts';
import { EventResource, eventResource } from '../../trading/event-resource.ts';
import { ACCOUNTS_MAX, type PaperDesk } from '../../trading/paper-desk.ts';
import { type Description, dataOf, described, listOf, orNull } from '../openapi/described.ts';
import { KEYED_REFUSALS } from '../openapi/refusals.ts';
import { anyText, optional, parameter, parameters, queryIn } from '../parameters/parameter.ts';
import { PATH } from '../parameters/path.ts';
import { integer, QUERY } from '../parameters/query.ts';
import type { Caller } from '../plugins/authentication.ts';
import { searchOf } from '../request-target.ts';
import { NO_STORE, type ResponseSettings, respond, respondJson } from '../response/response.ts';
import { AccountResource, AccountSummary, accountResource, accountSummary } from './account-resource.ts';
import type { CallerPlugin } from './replay-access.ts';
import { bodyOf } from './replay-resource.ts';

const ACCOUNTS = '/v1/replays/:replay/accounts';
const ACCOUNT = `${ACCOUNTS}/:address`;
const REFUSALS = [...KEYED_REFUSALS, 'NotFound', 'Conflict'] as const;
const AccountList = dataOf('PaperAccountList', 'Accounts.', listOf(AccountSummary, ACCOUNTS_MAX, 'The accounts.'));
const AccountAnswer = dataOf('PaperAccountAnswer', 'One account.', AccountResource);
const EventPage = Type.Object(
  {
    data: listOf(EventResource, PAGE_LIMIT_MAX),
    nextAfter: orNull(Type.Integer({ minimum: 1 }), 'after of the next page; null on the last page.'),
  },
  { $id: 'AccountEventPage', description: 'A page of the history of an account.' },
);
const Merge = Type.Object(
  {
    market: Type.String({ minLength: 1, description: 'The market, by conditionId or slug.' }),
    shares: Type.Number({ exclusiveMinimum: 0, description: 'The number of pairs, with at most 6 decimals.' }),
  },
  { $id: 'PaperMerge', additionalProperties: false, description: 'Pairs of up and down that become a dollar each.' },
);

const NUMBER = integer(0, Number.MAX_SAFE_INTEGER);
const EVENTS_QUERY = {
  after: parameter(NUMBER, 'Only events with a larger id.', { default: 0 }),
  limit: QUERY.limit,
  market: optional(
    anyText('^[A-Za-z0-9._-]{1,200}$'),
    'Only events of this market, by conditionId or slug.',
    'btc-updown-5m-1776808200',
  ),
  order: optional(anyText('^.{1,200}$'), 'Only events of the order with this id.', `0x${'ab'.repeat(32)}`),
  fill: optional(NUMBER, 'Only the fill with this number.', 1),
};
const EventsAsked = parameters(EVENTS_QUERY);

interface AccountsDeps {
  /** The replay of a request, which its key may access. Throws 'not-found' or 'forbidden'. */
  readonly found: (caller: Caller, id: string) => Replay;
  /** The same for a replay that the key may steer. */
  readonly owned: (caller: Caller, id: string) => Replay;
  readonly deskOf: (replay: Replay) => PaperDesk;
}

/** The accounts of the replays of this process. All answers are as of the clock's instant. */
export function paperAccountsController({ found, owned, deskOf }: AccountsDeps, authentication: CallerPlugin) {
  const seen = async (caller: Caller, id: string) => {
    const desk = deskOf(found(caller, id));
    await desk.catchUp();
    return desk;
  };
  const answer = (set: ResponseSettings, desk: PaperDesk, account: PaperAccount) =>
    respondJson(set, { data: accountResource(desk, account) }, NO_STORE);
  return new Elysia({ name: 'paper-accounts' })
    .use(authentication)
    .get(
      ACCOUNTS,
      async ({ caller, params, set }) => {
        const desk = await seen(caller, params.replay);
        return respondJson(set, { data: desk.accounts().map(accountSummary) }, NO_STORE);
      },
      {
        params: t.Object({ replay: PATH.replay }),
        detail: described('listAccounts', {
          summary: 'Accounts of a replay',
          description:
            'The accounts that were used since the replay began or went back, in the order of their first use.',
          answer: AccountList,
          refusals: REFUSALS,
        }),
      },
    )
    .get(
      ACCOUNT,
      async ({ caller, params, set }) => {
        const desk = await seen(caller, params.replay);
        return answer(set, desk, used(desk, params.address));
      },
      ofAccount('showAccount', {
        summary: 'One account',
        description: 'Its dollars, shares and open orders, and the rules of its markets with their sources.',
        answer: AccountAnswer,
      }),
    )
    .get(
      `${ACCOUNT}/events`,
      async ({ caller, params, query, set }) => {
        const desk = await seen(caller, params.replay);
        return respondJson(set, eventPage(desk, used(desk, params.address), query), NO_STORE);
      },
      {
        ...ofAccount('accountEvents', {
          summary: 'History of an account',
          description:
            'Everything that happened to the account, ascending, each fill with the record that caused it. To get the next page, repeat the request with after = nextAfter.',
          answer: EventPage,
        }),
        query: EventsAsked,
        transform: (context) => {
          Object.assign(context.query, queryIn(searchOf(context.request), EVENTS_QUERY));
        },
      },
    )
    .post(
      `${ACCOUNT}/merge`,
      async ({ caller, params, request, set }) => {
        const { market, shares } = bodyOf(Merge, await request.text());
        const desk = deskOf(owned(caller, params.replay));
        const pairs = microsOf(shares);
        if (pairs === 0 || pairs / MICROS !== shares)
          throw new DomainError('malformed-request', 'the number of pairs must be above 0, with at most 6 decimals');
        const account = used(desk, params.address);
        await desk.merge(account, listed(desk.replay, market), pairs);
        return answer(set, desk, account);
      },
      {
        ...ofAccount('mergeShares', {
          summary: 'Merge pairs of shares',
          description:
            'Makes a dollar of each pair of up and down, at once, as the venue’s contract does. 409: the account has fewer pairs that no order sells.',
          body: { required: true, schema: Merge },
          answer: AccountAnswer,
        }),
        parse: 'none',
      },
    )
    .delete(
      ACCOUNT,
      ({ caller, params, set }) => {
        const desk = deskOf(owned(caller, params.replay));
        desk.reset(used(desk, params.address).address);
        return respond(set, null, {}, 204);
      },
      ofAccount('resetAccount', {
        summary: 'Reset an account',
        description: 'Forgets its orders and history; at its next use it has the first cash again.',
        answers: { 204: 'The account is reset.' },
      }),
    );
}

/** The settings of a route about an account. */
function ofAccount(operation: string, description: Description) {
  return {
    params: t.Object({ replay: PATH.replay, address: PATH.address }),
    detail: described(operation, { ...description, refusals: REFUSALS }),
  };
}

function used(desk: PaperDesk, address: string): PaperAccount {
  const account = desk.find(address);
  if (account !== undefined) return account;
  throw new DomainError(
    'not-found',
    `this replay has no account of this address: '/v1/replays/${desk.replay.id}/accounts' lists them`,
  );
}

/** A market that is listed at the clock's instant, by conditionId or slug. Throws 'not-found'. */
function listed(replay: Replay, name: string): StoredMarket {
  const { database, markets } = replay.archive;
  const market = database.read(() => markets.named(name)).find((one) => replay.hasListed(one, replay.clock.nowMs));
  if (market !== undefined) return market;
  throw new DomainError(
    'not-found',
    'this replay has no such market: give the conditionId or slug of one that is listed',
  );
}

function eventPage(
  desk: PaperDesk,
  { events }: PaperAccount,
  { after, limit, market, order, fill }: Static<typeof EventsAsked>,
): Static<typeof EventPage> {
  const namesOf = (key: number) => desk.traded(key)!.market;
  const data: EventResource[] = [];
  for (let index = after; index < events.length; index += 1) {
    const event = events[index]!;
    if (order !== undefined && !('order' in event && event.order.id === order)) continue;
    if (fill !== undefined && !(event.kind === 'fill' && event.fill.number === fill)) continue;
    if (market !== undefined) {
      const { conditionId, slug } = 'marketKey' in event ? namesOf(event.marketKey) : {};
      if (conditionId !== market.toLowerCase() && slug !== market) continue;
    }
    if (data.length === limit) return { data, nextAfter: data.at(-1)!.id };
    data.push(eventResource(event, index + 1, namesOf));
  }
  return { data, nextAfter: null };
}
