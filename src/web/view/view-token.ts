import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AccountService } from '../../account/account-service.ts';
import { DomainError } from '../../domain/errors.ts';
import { formatInstant, type InstantMs, instantOrNull } from '../../domain/instant.ts';
import { grantsRoute, tierResource } from '../../domain/tier.ts';
import type { ClientAddresses } from '../../http/plugins/client-address.ts';
import type { RequestContext } from '../../http/plugins/rate-limit.ts';
import { VIEW_TOKEN_MS, type ViewTokenGrant, ViewTokens } from '../../http/plugins/view-tokens.ts';
import { bodyOf } from '../../http/request-body.ts';
import { NO_STORE, respondJson } from '../../http/response/response.ts';
import { parsedJson } from '../../record/fields.ts';
import type { KeyHolder } from '../../store/key-directory.ts';
import type { KeySecret } from '../../store/key-secret.ts';
import type { Registry } from '../../store/registry.ts';
import type { SampleMarkets } from '../../store/sample-markets.ts';
import { refuseForeignForm } from '../posted-form.ts';
import { signedInBy } from '../signed-in.ts';

export interface ViewTokenDeps {
  readonly tokens: ViewTokens;
  readonly samples: SampleMarkets;
  readonly service: Pick<AccountService, 'sessions' | 'publicUrl'>;
  readonly registry: Registry;
  readonly addresses: ClientAddresses;
  readonly nowMs: () => InstantMs;
  /** The key of a demo, which pages in a browser of this machine get without a session; undefined: there is none. */
  readonly demoKeyId: string | undefined;
}

/** The session and the account of the tokens that are issued without a session. */
const DEMO = { session: 'demo', account: 0 };
const BODY_BYTES_MAX = 1024;
const Asked = Type.Object({ keyId: Type.Optional(Type.String()) }, { additionalProperties: false });

/** The tokens of a service. `secret`: that of all its processes; left out: a new one. */
export function viewTokensOf(
  { sessions }: Pick<AccountService, 'sessions'>,
  demoKeyId: string | undefined,
  secret?: KeySecret,
): ViewTokens {
  const isOpen = (id: string, accountId: number) =>
    id === DEMO.session ? demoKeyId !== undefined : sessions.isOpen({ id, accountId });
  return new ViewTokens(isOpen, secret);
}

/**
 * POST /view/token: a token for one key of the signed-in person; the body `{"keyId"}` names it, else it is the first one of `validKeys`. Throws
 * 'forbidden' for a request of another site, 'unauthenticated' without a session, 'not-found' for a key that the account does not have,
 * 'conflict' for an account without a valid key, 'malformed-request' for another body.
 */
export async function viewTokenAnswer(deps: ViewTokenDeps, context: RequestContext): Promise<Response> {
  const { request, set } = context;
  const keyId = keyIdIn(await bodyOf(request, BODY_BYTES_MAX));
  const { keys, ...owner } = ownerOf(deps, context);
  const nowMs = deps.nowMs();
  const [chosen] = keyId === undefined ? keys : keys.filter(({ key }) => key.id === keyId);
  if (chosen === undefined) {
    throw keyId === undefined
      ? new DomainError('conflict', 'your account has no valid key: create one at /account/keys/new')
      : new DomainError('not-found', 'your account has no valid key with this id: choose another one');
  }
  const { token, endsMs } = deps.tokens.issue({ ...owner, keyId: chosen.key.id }, nowMs);
  const data = {
    token,
    expiresAt: formatInstant(endsMs),
    // The clock of the browser may be wrong.
    expiresInSeconds: VIEW_TOKEN_MS / 1000,
    key: keyResource(chosen),
    tier: tierResource(chosen.tier),
    keys: keys.map(keyResource),
    sample: sampleResource(deps, chosen),
  };
  return respondJson(set, { data }, NO_STORE);
}

/** The market whose books a page may show though the tier lacks them; null: the tier has them, or there is none. */
function sampleResource({ samples, nowMs }: ViewTokenDeps, { tier }: KeyHolder) {
  const sample = grantsRoute(tier, 'snapshots') ? undefined : samples.of(tier, nowMs());
  return sample === undefined ? null : { symbol: sample.symbol, slug: sample.slug, conditionId: sample.conditionId };
}

/** The owner of a new token, and the owner's valid keys, see `validKeys`. */
function ownerOf(deps: ViewTokenDeps, context: RequestContext) {
  const { service, registry, nowMs } = deps;
  const { request } = context;
  const person = signedInBy(request, service);
  if (person !== undefined) {
    refuseForeignForm(request, service.publicUrl);
    const { id: session, accountId: account } = person.session;
    const keys = registry.database.read(() => registry.apiKeys.ofAccount(account));
    return { session, account, keys: validKeys(registry, keys, nowMs()) } satisfies Owner;
  }
  if (deps.demoKeyId !== undefined && isOfThisMachine(deps, context)) {
    const { demoKeyId } = deps;
    return { ...DEMO, keys: validKeys(registry, [{ id: demoKeyId }], nowMs()) } satisfies Owner;
  }
  throw new DomainError('unauthenticated', 'you are not signed in: sign in at /sign-in, or enter a key');
}

type Owner = Omit<ViewTokenGrant, 'keyId'> & { readonly keys: readonly KeyHolder[] };

/** Keys that read books first, then those without a limit of time or with a later one, then those of higher tiers. */
function validKeys(registry: Registry, keys: readonly { readonly id: string }[], nowMs: InstantMs): KeyHolder[] {
  const { database, keyDirectory, tiers } = registry;
  return database.readShared(() => {
    const rank = new Map(tiers.list().map(({ id }, position) => [id, position]));
    const holders = keys.flatMap(({ id }) => keyDirectory.findById(id, nowMs) ?? []);
    const limitMs = ({ key }: KeyHolder) => key.asOfMs ?? Number.MAX_SAFE_INTEGER;
    const perMinute = ({ key, tier }: KeyHolder) => key.requestsPerMinute ?? tier.requestsPerMinute;
    const hasBooks = ({ tier }: KeyHolder) => Number(grantsRoute(tier, 'snapshots'));
    return holders.toSorted(
      (a, b) =>
        hasBooks(b) - hasBooks(a) ||
        limitMs(b) - limitMs(a) ||
        (rank.get(b.tier.id) ?? -1) - (rank.get(a.tier.id) ?? -1) ||
        perMinute(b) - perMinute(a) ||
        b.key.createdMs - a.key.createdMs,
    );
  });
}

function keyResource({ key: { id, name, prefix, asOfMs }, tier }: KeyHolder) {
  return { id, name: name ?? null, prefix, tier: tier.id, asOf: instantOrNull(asOfMs) };
}

/**
 * Returns true if a page of this service in a browser of this machine sent the request. If a proxy names itself in no header, the
 * page's origin has the name of the proxy.
 */
function isOfThisMachine({ addresses }: ViewTokenDeps, { request }: RequestContext): boolean {
  const { headers } = request;
  const host = headers.get('host') ?? '';
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  return (
    addresses.isOfThisMachine(request) &&
    (site === null || site === 'same-origin') &&
    (origin === `http://${host}` || origin === `https://${host}`)
  );
}

/** The key that a body asks for; undefined: any. */
function keyIdIn(body: Buffer | undefined): string | undefined {
  const asked = body?.length === 0 ? {} : parsedJson(body?.toString() ?? '');
  if (Value.Check(Asked, asked)) return asked.keyId;
  throw new DomainError('malformed-request', 'the body is malformed: send {"keyId":"key_…"}, or nothing');
}
