import { Elysia } from 'elysia';
import { DomainError } from '../../domain/errors.ts';
import { isFields, parsedJson } from '../../record/fields.ts';
import type { Sender } from '../../trading/api-keys.ts';
import { amountsOf, type VenueAccount } from '../../trading/venue-account.ts';
import type { PlacedOrder, VenueDesk } from '../../trading/venue-desk.ts';
import { isSignedByWallet } from '../../venue/api-credentials.ts';
import { type OrderBody, orderBody, orderJson } from '../../venue/order-body-parser.ts';
import { EXCHANGES } from '../../venue/order-id.ts';
import { ORDERS_MAX, REFUSALS, tooMany } from '../../venue/order-refusals.ts';
import {
  assetIdOf,
  openOrder,
  orderAnswer,
  refusedAnswer,
  tradeReport,
  type VenueOrder,
} from '../../venue/order-writer.ts';
import { bodyOf } from '../request-body.ts';
import { pathOf } from '../request-target.ts';
import {
  clobRefusal,
  type VenueAnswer,
  type VenueDeps,
  type VenueQuestion,
  VenueRefusal,
  venueAnswers,
} from './venue-answer.ts';
import { pageAt } from './venue-markets.ts';

/** A request of an account. */
interface AccountQuestion extends VenueQuestion {
  readonly desk: VenueDesk;
  readonly sender: Sender;
  readonly body: string;
  /** Those in the body, where it has some. */
  readonly orders: readonly OrderBody[];
}

type Answer = (question: AccountQuestion) => VenueAnswer | Promise<VenueAnswer>;

/** A batch of the largest orders, with signatures of contracts. */
const BODY_BYTES_MAX = 256 * 1024;
/** The CLOB's own host has the paths at its root. */
const PREFIXES = ['', '/clob'] as const;
/** The part of a path that clients do not sign: they know the address of the host only. */
const UNSIGNED = /^(?:\/replays\/[^/]+)?(?:\/clob(?=\/))?/;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const WHOLE = /^\d{1,15}$/;
const ORDER_ID = /^0x[0-9a-f]{64}$/i;
/** The largest number of the contracts: without a limit. */
const ALLOWANCE = String(2n ** 256n - 1n);
const SIGNATURE_TYPE = /^[0-3]$/;
const OK = JSON.stringify('OK');

/**
 * The venue's REST interface for orders and accounts (docs.polymarket.com, CLOB) on a replay that takes orders, as clob-client and
 * py-clob-client use it; any other replay does not have these paths.
 */
export function venueOrdersController(deps: VenueDeps) {
  const app = new Elysia({ name: 'venue-orders' });
  const { later } = venueAnswers(deps);
  const deskOf = ({ replay }: VenueQuestion) => {
    const desk = deps.deskOf(replay);
    if (desk !== undefined) return desk;
    throw new DomainError(
      'not-found',
      'this replay takes no orders: start it with --paper, or create one with paper true',
    );
  };
  const withKey = (name: string, answer: Answer) =>
    later(async (question, request) => {
      const desk = deskOf(question);
      const body = (await bodyOf(request, BODY_BYTES_MAX))?.toString();
      if (body === undefined) refusePayload();
      const orders = ORDERS_IN[name]?.(orderJson(body)).map((order) => orderBody(order) ?? refusePayload()) ?? [];
      const sender = senderOf(desk, request, body);
      await desk.catchUp();
      return await answer({ ...question, desk, sender, body, orders });
    });
  const withWallet = later(async (question, request) => {
    const desk = deskOf(question);
    const credentials = desk.keys.derive(...(await walletOf(request)));
    if (credentials === undefined) throw clobRefusal(400, 'Could not create api key');
    return credentials;
  });
  const version = later(async (question) => {
    deskOf(question);
    return { version: 2 };
  });
  for (const prefix of PREFIXES) {
    app.get(`${prefix}/version`, version);
    app.post(`${prefix}/auth/api-key`, withWallet, { parse: 'none' });
    app.get(`${prefix}/auth/derive-api-key`, withWallet);
    for (const [name, answer] of Object.entries(ANSWERS)) {
      const [method, path] = name.split(' ') as [string, string];
      app.route(method, `${prefix}${path}`, withKey(name, answer), { parse: 'none' });
    }
  }
  return app;
}

/** The orders in the body of a request; refused before the credentials are. */
const ORDERS_IN: Readonly<Record<string, (body: unknown) => readonly unknown[]>> = {
  'POST /order': (order) => [order],
  'POST /orders': (orders) => (Array.isArray(orders) && orders.length > 0 ? orders : [undefined]),
};

const ANSWERS: Readonly<Record<string, Answer>> = {
  'DELETE /auth/api-key': ({ desk, sender }) => {
    desk.keys.delete(sender.apiKey);
    return OK;
  },
  'GET /auth/api-keys': ({ desk, sender }) => ({ apiKeys: desk.keys.of(sender.address) }),
  'GET /auth/ban-status/closed-only': () => ({ closed_only: false }),
  'POST /order': async (question) => {
    const [placed] = await question.desk.place(question.sender, question.orders);
    if (typeof placed === 'string') throw clobRefusal(400, placed);
    return answerTo(question, placed!);
  },
  'POST /orders': async (question) => {
    const { desk, sender, orders } = question;
    if (orders.length > ORDERS_MAX) throw clobRefusal(400, tooMany(orders.length));
    const placed = await desk.place(sender, orders);
    return placed.map((each) => (typeof each === 'string' ? refusedAnswer(each) : answerTo(question, each)));
  },
  'DELETE /order': (question) => {
    const body = parsedJson(question.body);
    return cancel(question, [idIn(isFields(body) ? body.orderID : undefined)]);
  },
  'DELETE /orders': (question) => {
    const body = parsedJson(question.body);
    if (!Array.isArray(body)) refusePayload();
    return cancel(question, body.map(idIn));
  },
  'DELETE /cancel-all': (question) => cancelOpen(question, () => true),
  'DELETE /cancel-market-orders': (question) => {
    const { market, asset_id } = question.body === '' ? {} : fieldsOf(question.body);
    return cancelOpen(question, ofMarket(market, asset_id));
  },
  'GET /data/orders': (question) => {
    const { query } = question;
    const isWanted = ofMarket(query.get('market'), query.get('asset_id'));
    const id = query.get('id');
    const open = read(question, (account) => account.openOrders());
    const wanted = open.filter((order) => isWanted(order) && (id ?? order.id) === order.id);
    return pageAt(query, wanted, openOrder);
  },
  'GET /data/order/:orderId': (question) => {
    const id = idIn(question.params.orderId);
    const order = read(question, (account) => account.order(id));
    if (order === undefined) throw clobRefusal(404, 'order not found');
    return openOrder(order);
  },
  'GET /data/trades': (question) => {
    const { query } = question;
    const isWanted = ofMarket(query.get('market'), query.get('asset_id'));
    const maker = query.get('maker_address')?.toLowerCase();
    const id = query.get('id');
    const [before = Infinity, after = -Infinity] = [secondsIn(query, 'before'), secondsIn(query, 'after')];
    return read(question, (account) => {
      const fills = account.fills().filter((event) => {
        const order = account.placed(event);
        if (order === undefined) return false;
        const isOwn = (maker ?? order.makerAddress.toLowerCase()) === order.makerAddress.toLowerCase();
        const seconds = Math.floor((event.atMs + question.replay.shiftMs) / 1000);
        const isAsked = isOwn && isWanted(order) && seconds < before && seconds >= after;
        return isAsked && (id === null || id === account.tradeId(event));
      });
      return pageAt(query, fills, (event) => tradeReport(account.trade(event)!));
    });
  },
  'GET /balance-allowance': balance,
  'GET /balance-allowance/update': balance,
  'POST /v1/heartbeats': ({ desk, sender, body }) => {
    const id = fieldsOf(body).heartbeat_id ?? '';
    if (typeof id !== 'string') refusePayload();
    const next = desk.beat(sender, id);
    if (!next.isExpected) throw new VenueRefusal(400, { error_msg: 'Invalid Heartbeat ID', heartbeat_id: next.id });
    return { heartbeat_id: next.id };
  },
  'POST /heartbeats': ({ desk, sender }) => {
    desk.beat(sender);
    return { status: 'ok' };
  },
  'GET /notifications': () => [],
  'DELETE /notifications': () => OK,
  'GET /order-scoring': () => ({ scoring: false }),
  'POST /orders-scoring': ({ body }) => {
    const ids = parsedJson(body);
    if (!Array.isArray(ids)) refusePayload();
    return Object.fromEntries(ids.map((id) => [String(id), false]));
  },
};

/** The answer has no minimum amount, and no allowance that could be used up. */
function balance(question: AccountQuestion): object {
  const { query, replay, nowMs } = question;
  const [type, assetId] = [query.get('asset_type'), query.get('token_id') ?? ''];
  if (type !== 'COLLATERAL' && type !== 'CONDITIONAL') throw clobRefusal(400, REFUSALS.assetType);
  if (!SIGNATURE_TYPE.test(query.get('signature_type') ?? '0')) throw clobRefusal(400, REFUSALS.signatureType);
  const units = read(question, ({ account }) => {
    if (type === 'COLLATERAL') return account.cash;
    const found = replay.findByAsset(assetId, nowMs);
    return found === undefined ? 0 : account.holding(found.market.key, found.outcome).shares;
  });
  const allowances = Object.fromEntries(Object.values(EXCHANGES).map((contract) => [contract, ALLOWANCE]));
  return { balance: String(units), allowances, allowance: ALLOWANCE };
}

function answerTo(question: AccountQuestion, placed: Exclude<PlacedOrder, string>): object {
  const { order, status, fills } = placed;
  const { dollars, shares } = amountsOf(fills);
  const [making, taking] = order.terms.side === 'buy' ? [dollars, shares] : [shares, dollars];
  const trades = read(question, (account) => fills.flatMap((event) => account.trade(event) ?? []));
  const amounts = fills.length === 0 ? { making: '', taking: '' } : { making, taking };
  return orderAnswer({ orderId: order.terms.id, status, ...amounts, trades });
}

async function cancel({ desk, sender }: AccountQuestion, ids: readonly string[]): Promise<object> {
  const { canceled, notCanceled } = await desk.cancel(sender, ids);
  return { canceled, not_canceled: notCanceled };
}

function cancelOpen(question: AccountQuestion, isWanted: (order: VenueOrder) => boolean): Promise<object> {
  const open = read(question, (account) => account.openOrders());
  return cancel(
    question,
    open.filter(isWanted).map(({ id }) => id),
  );
}

/** Reads the account and the archive at the clock's instant. */
function read<T>({ desk, sender, replay }: AccountQuestion, from: (account: VenueAccount) => T): T {
  return replay.archive.database.readShared(() => from(desk.look(sender.address)));
}

/** Empty texts, and what is none, choose all. */
function ofMarket(market: unknown, assetId: unknown): (order: VenueOrder) => boolean {
  const [wanted, wantedAsset] = [market, assetId].map((text) =>
    typeof text === 'string' && text !== '' ? text : undefined,
  );
  return ({ asset }) =>
    (wanted ?? asset.conditionId).toLowerCase() === asset.conditionId.toLowerCase() &&
    (wantedAsset ?? assetIdOf(asset)) === assetIdOf(asset);
}

/** The account of a request with a key. */
function senderOf(desk: VenueDesk, request: Request, body: string): Sender {
  const header = headersOf(request);
  const headers = {
    ...{ address: header('ADDRESS').toLowerCase(), apiKey: header('API_KEY'), passphrase: header('PASSPHRASE') },
    ...{ signature: header('SIGNATURE'), timestamp: header('TIMESTAMP') },
  };
  const isComplete = Object.values(headers).every((text) => text !== '');
  const isFormed = isComplete && ADDRESS.test(headers.address) && WHOLE.test(headers.timestamp);
  const signed = `${request.method}${pathOf(request).replace(UNSIGNED, '')}${body}`;
  const sender = isFormed ? desk.keys.sender({ ...headers, signed }) : undefined;
  if (sender === undefined) throw clobRefusal(401, REFUSALS.credentials);
  return sender;
}

/** The address and nonce of a request that a wallet signed. */
async function walletOf(request: Request): Promise<[address: string, nonce: string]> {
  const header = headersOf(request);
  const [address, signature, timestamp] = [header('ADDRESS'), header('SIGNATURE'), header('TIMESTAMP')];
  const nonce = header('NONCE') || '0';
  const isFormed = ADDRESS.test(address) && WHOLE.test(timestamp) && WHOLE.test(nonce);
  if (isFormed && (await isSignedByWallet({ address, signature, timestamp, nonce }))) return [address, nonce];
  throw clobRefusal(401, REFUSALS.wallet);
}

/** Reads the venue's headers; '' for those that are missing. */
function headersOf({ headers }: Request): (name: string) => string {
  return (name) => headers.get(`POLY_${name}`) ?? '';
}

function idIn(id: unknown): string {
  if (typeof id === 'string' && ORDER_ID.test(id)) return id.toLowerCase();
  throw clobRefusal(400, REFUSALS.orderId);
}

function fieldsOf(body: string) {
  const fields = parsedJson(body);
  if (!isFields(fields)) refusePayload();
  return fields;
}

function refusePayload(): never {
  throw clobRefusal(400, REFUSALS.payload);
}

function secondsIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  return WHOLE.test(text) ? Number(text) : undefined;
}
