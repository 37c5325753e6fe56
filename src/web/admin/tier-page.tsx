import { type AffectedByTier, affectedByTier, changeTier, retireTier } from '../../account/tier-catalog.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../confirmed-button.tsx';
import { personPage } from '../person-page.tsx';
import { type RefusedForm, refusedForm } from '../refused-form.ts';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time } from '../time.tsx';
import { type Answer, redirect, type Visit } from '../visit.ts';
import { fieldsOf, TierForm, tierOf } from './tier-form.tsx';
import { TIERS_PATH } from './tier-list.tsx';

/** Accounts and keys that the page lists. */
const LISTED_MAX = 100;

/** GET /admin/tiers/{id}. */
export function tierPage(deps: WebDeps, person: Person, { parameter }: Visit): Answer {
  return pageOfTier(deps, person, parameter);
}

/** POST /admin/tiers/change. */
export async function saveTier(deps: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  const { archive, registry, nowMs } = deps;
  const form = await visit.form();
  const { id, ...edit } = tierOf(form);
  const refused = refusedForm(form, () => {
    changeTier({ registry, nowMs: nowMs(), actor: person }, id, edit, () => archive.recordedCoins.symbols());
  });
  return refused === undefined ? redirect(TIERS_PATH) : pageOfTier(deps, person, id, refused);
}

/** POST /admin/tiers/retire. */
export async function retire({ registry, nowMs }: WebDeps, actor: Person, visit: Visit): Promise<Answer> {
  retireTier({ registry, nowMs: nowMs(), actor }, (await visit.form()).get('id') ?? '');
  return redirect(TIERS_PATH);
}

/** Throws 'not-found'. */
function pageOfTier({ registry, nowMs }: WebDeps, person: Person, id: string, refused?: RefusedForm): Answer {
  const catalog = registry.database.read(() => registry.tiers.all());
  const tier = catalog.find((one) => one.id === id);
  if (tier === undefined) throw new DomainError('not-found', 'there is no such tier: open the list of tiers again');
  const place =
    tier.retiredMs === undefined
      ? catalog.filter(({ retiredMs }) => retiredMs === undefined).indexOf(tier) + 1
      : undefined;
  const affected = affectedByTier(registry, nowMs(), id);
  return personPage(person, {
    title: `Tier ${tier.name}`,
    path: TIERS_PATH,
    refused,
    children: (
      <>
        <p class="quiet">A change applies to all accounts and keys that have this tier, from their next request on.</p>
        {tier.retiredMs !== undefined && (
          <p class="notice warn">
            Retired since <Time ms={tier.retiredMs} />: keys and accounts that have it keep it, and no others get it.
          </p>
        )}
        <div class="card">
          <TierForm id={id} values={refused?.typed ?? fieldsOf(tier, place)} hasPlace={place !== undefined} />
        </div>
        <Affected affected={affected} />
        {tier.retiredMs === undefined && <Retirement tier={tier} isOfNewAccounts={affected.isOfNewAccounts} />}
      </>
    ),
  });
}

function Affected({ affected: { accounts, keys, isOfNewAccounts } }: { readonly affected: AffectedByTier }) {
  return (
    <>
      <h2>Accounts with this tier by a grant</h2>
      {isOfNewAccounts && <p>All accounts without a grant have this tier, too.</p>}
      <Table label="Accounts" headings={['Account', 'Until']} empty="No account has a grant of this tier.">
        {accounts.slice(0, LISTED_MAX).map(({ accountId, email, endsMs }) => (
          <tr key={accountId}>
            <td class="long">
              <a href={`/admin/accounts/${accountId}`}>{email}</a>
            </td>
            <td>{endsMs === undefined ? 'no end' : <Time ms={endsMs} />}</td>
          </tr>
        ))}
      </Table>
      <More count={accounts.length} />
      <h2>Keys pinned to this tier</h2>
      <Table label="Keys" headings={['Key', 'Account']} empty="No key is pinned to this tier.">
        {keys.slice(0, LISTED_MAX).map(({ id, name, prefix, accountId, account }) => (
          <tr key={id}>
            <td>
              {name ?? <span class="quiet">no name</span>} <code class="nowrap">{prefix}…</code>
            </td>
            <td class="long">
              <a href={`/admin/accounts/${accountId}`}>{account}</a>
            </td>
          </tr>
        ))}
      </Table>
      <More count={keys.length} />
    </>
  );
}

function More({ count }: { readonly count: number }) {
  return count > LISTED_MAX ? <p class="quiet">And {numberText(count - LISTED_MAX)} more.</p> : null;
}

function Retirement({
  tier: { id, name },
  isOfNewAccounts,
}: {
  readonly tier: Tier;
  readonly isOfNewAccounts: boolean;
}) {
  return (
    <>
      <h2>Retire</h2>
      <div class="card action">
        {isOfNewAccounts ? (
          <p>
            This is the tier of new accounts: it cannot be retired before another one is set with{' '}
            <code>--new-account-tier</code>.
          </p>
        ) : (
          <>
            <p>A retired tier is not in the catalog. The accounts and keys above keep it, and no others get it.</p>
            <ConfirmedButton label="Retire" action="/admin/tiers/retire" fields={{ id }}>
              {name} cannot be put back into the catalog.
            </ConfirmedButton>
          </>
        )}
      </div>
    </>
  );
}
