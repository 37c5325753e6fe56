import { countText } from '../domain/count-text.ts';
import { parseIso, timeText } from '../domain/instant.ts';
import type { AuditDetail, AuditEntry } from '../store/audit.ts';
import { numberText, usdText } from './texts.ts';

type Value = AuditDetail[string] | undefined;
type Described = Pick<AuditEntry, 'action' | 'detail'> & Partial<Pick<AuditEntry, 'count'>>;
type Sentence = (detail: AuditDetail) => string;

/** Others are names of providers. */
const WAYS: Readonly<Record<string, string>> = {
  email: 'by email',
  command: 'by a sign-in link',
  passkey: 'with a passkey',
  'recovery-code': 'with a recovery code',
};

/** A sentence for each action, `noun.verb`. The person who acted is named elsewhere. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  'account.create': ({ role }) => `Created the account${role === 'admin' ? ' as an admin' : ''}`,
  'account.delete': () => 'Deleted the account',
  'account.disable': () => 'Disabled the account',
  'account.email': ({ from, to }) => `Changed the address from ${from} to ${to}`,
  'account.enable': () => 'Enabled the account',
  'account.link': () => 'Created a sign-in link',
  'account.role': ({ role }) => (role === 'admin' ? 'Made the account an admin' : 'Made the account a user'),
  'account.sign-up': ({ method }) => `Signed up ${signInWay(method)}`,
  'account.undo': ({ sessions }) => `Undid changes by the link in an email, and ended ${sessionsText(sessions)}`,
  'grant.create': ({ tier, until }) => `Granted the tier ${tier} ${untilText(until)}`,
  'grant.end': ({ grant }) => `Ended the grant ${grant}`,
  'identity.link': ({ provider }) => `Linked the account to ${provider}`,
  'identity.unlink': ({ issuer }) => `Unlinked the account from ${issuer}`,
  'key.create': ({ key, tier }) => `Created the key ${key}${tier === null ? '' : ` with the tier ${tier}`}`,
  'key.revoke': ({ key }) => `Revoked the key ${key}`,
  'key.rotate': ({ key }) => `Rotated the key ${key}`,
  'key.set': (detail) => `Gave the key ${detail.key} ${keyText(detail)}`,
  'passkey.add': ({ passkey }) => `Added the passkey ${passkey}`,
  'passkey.refused': ({ passkey, reason }) => `The passkey ${passkey} was refused: ${reason}`,
  'passkey.remove': ({ passkey }) => `Removed the passkey ${passkey}`,
  'payment.fail': ({ payment }) => `The payment ${payment} failed: it can never be mined`,
  'payment.finish': ({ payment }) => `The payment ${payment} is final`,
  'payment.refund': ({ payment, tier, endsTier }) =>
    `Refunded the payment ${payment}${endsTier === true ? `, which ended the tier ${tier}` : ''}`,
  'payment.revoke': ({ payment, tier }) =>
    `Took back the tier ${tier}: the payment ${payment} is not on its network any more`,
  'payment.settle': ({ payment, tier, refund }) =>
    refund === undefined
      ? `Bought the tier ${tier} with the payment ${payment}`
      : `Bought nothing with the payment ${payment}: it was refunded`,
  'recordings.delete': ({ coins, markets, records, coinPrices }) => {
    const of = (count: Value, noun: string) => countText(Number(count), noun);
    return `Deleted ${of(markets, 'market')} with ${of(records, 'record')} and ${of(coinPrices, 'coin price')} of ${coins}`;
  },
  'recovery-code.refused': () => 'A wrong recovery code was entered',
  'recovery-code.use': ({ left }) => `Used a recovery code: ${left} are left`,
  'recovery-codes.replace': () => 'Got new recovery codes',
  'session.end': () => 'Ended a session',
  'session.end-all': ({ sessions }) => `Ended ${sessionsText(sessions)}`,
  'session.refused': ({ method }) => `Was refused a sign-in ${signInWay(method)}: the account is disabled`,
  'session.sign-in': ({ method }) => `Signed in ${signInWay(method)}`,
  'session.sign-out': () => 'Signed out',
  'session.wrong-code': () => 'A wrong code was entered',
  'tier.add': (detail) => `Added the tier ${tierText(detail)}`,
  'tier.retire': ({ tier }) => `Retired the tier ${tier}`,
  'tier.set': (detail) => `Changed the tier ${tierText(detail)}`,
};

/** The kind of an action: account, key, payment, recordings, sign-in or tier. */
export function auditKind(action: string): string {
  if (/^(?:session|passkey|recovery-codes?|identity)\./.test(action)) return 'sign-in';
  return action.startsWith('grant.') ? 'tier' : action.split('.', 1)[0]!;
}

/** The actions that this build records, in the order of the alphabet. */
export const AUDIT_ACTIONS: readonly string[] = Object.keys(SENTENCES);

/** Describes an entry in words. An action of another build is shown as it is stored. */
export function auditSentence({ action, detail, count = 1 }: Described): string {
  const sentence = SENTENCES[action];
  if (sentence !== undefined)
    return `${sentence(detail)}${count === 1 ? '' : `, ${numberText(count)} times in this hour`}`;
  const facts = Object.entries(detail).map(([name, value]) => `${name} ${value ?? 'none'}`);
  return [action, ...facts].join(', ');
}

/** The way of a sign-in: `by email`, `at` a provider. */
export function signInWay(method: Value): string {
  return WAYS[String(method)] ?? `at ${method}`;
}

function sessionsText(sessions: Value): string {
  return sessions === 1 ? 'a session' : `${sessions} sessions`;
}

function untilText(until: Value): string {
  const untilMs = parseIso(String(until));
  return untilMs === undefined ? 'without an end' : `until ${timeText(untilMs)}`;
}

/** The fields of a key that were changed; a value of null was removed. */
function keyText({ tier, requestsPerMinute, expires, named }: AuditDetail): string {
  const rpm = requestsPerMinute === null ? "its tier's number of" : numberText(Number(requestsPerMinute));
  const endMs = parseIso(String(expires));
  return [
    ...(tier === undefined ? [] : [tier === null ? 'the tier of its account' : `the tier ${tier}`]),
    ...(requestsPerMinute === undefined ? [] : [`${rpm} requests per minute`]),
    ...(expires === undefined ? [] : [endMs === undefined ? 'no end' : `the end ${timeText(endMs)}`]),
    ...(named === undefined ? [] : [named === true ? 'another name' : 'no name']),
  ].join(', ');
}

function tierText({ tier, name, requestsPerMinute, coins, routes, monthlyPriceUsd, place }: AuditDetail): string {
  return [
    `${tier}: ${name}`,
    `${numberText(Number(requestsPerMinute))} requests per minute`,
    `coins ${coins}`,
    `routes ${routes}`,
    ...(monthlyPriceUsd == null ? [] : [`${usdText(Number(monthlyPriceUsd))} for 30 days`]),
    ...(place == null ? [] : [`place ${place}`]),
  ].join(', ');
}
