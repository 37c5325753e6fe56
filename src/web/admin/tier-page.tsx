import { type AffectedByTier, affectedByTier, changeTier, retireTier } from '../../account/tier-catalog.ts';
import { countText } from '../../domain/count-text.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Tier } from '../../domain/tier.ts';
import { ConfirmedButton } from '../action.tsx';
import { PREFIX_COLUMN } from '../key-prefix.tsx';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import { type RefusedForm, refusedForm } from '../posted-form.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { Time, timeColumn } from '../time.tsx';
import { AccountLink } from './shown-account.tsx';
import { coinsToChoose, fieldsOf, TierForm, tierOf } from './tier-form.tsx';
import { TIERS_PATH } from './tier-list.tsx';

/** The number of accounts, and of keys, that the page lists. */
const LISTED_MAX = 100;

/** GET /admin/tiers/{id}. */
export function tierPage(deps: WebDeps, person: Person, { parameter }: PageRequest): Answer {
  return pageOfTier(deps, person, parameter);
}

export const TIER_FORMS: PersonRoutes = {
  [`${TIERS_PATH}/change`]: posted(({ person, change, form, ...deps }) => {
    const { id, ...edit } = tierOf(form);
    const refused = refusedForm(form, () => {
      changeTier(change, id, edit, () => deps.archive.recordedCoins.symbols());
    });
    return refused === undefined ? redirect(TIERS_PATH) : pageOfTier(deps, person, id, refused);
  }),
  [`${TIERS_PATH}/retire`]: posted(({ change, field }) => {
    retireTier(change, field('id'));
    return redirect(TIERS_PATH);
  }),
};

/** Throws 'not-found'. */
function pageOfTier({ registry, archive, nowMs }: WebDeps, person: Person, id: string, refused?: RefusedForm): Answer {
  const catalog = registry.database.read(() => registry.tiers.all());
  const tier = catalog.find((one) => one.id === id);
  if (tier === undefined) throw new DomainError('not-found', 'there is no such tier: open the list of tiers again');
  const place =
    tier.retiredMs === undefined
      ? catalog.filter(({ retiredMs }) => retiredMs === undefined).indexOf(tier) + 1
      : undefined;
  const affected = affectedByTier(registry, nowMs(), id);
  return personPage(
    person,
    { title: tier.name, path: TIERS_PATH, back: { href: TIERS_PATH, name: 'Tiers' }, refused },
    <>
      {tier.retiredMs !== undefined && (
        <p class="notice warn">
          Retired since <Time ms={tier.retiredMs} />: keys and accounts that have it keep it, and no others can get it.
        </p>
      )}
      <div class="card">
        <TierForm
          id={id}
          values={fieldsOf(tier, place)}
          refused={refused}
          hasPlace={place !== undefined}
          coins={coinsToChoose(archive, tier.coins)}
          note={`A change applies at once to ${countsText(affected)}.`}
        />
      </div>
      <Affected affected={affected} />
      {tier.retiredMs === undefined && <Retirement tier={tier} affected={affected} />}
    </>,
  );
}

/** The number of accounts and keys that have a tier. */
function countsText({ accounts, keys, isOfNewAccounts }: AffectedByTier): string {
  const others = isOfNewAccounts ? ', all accounts without another tier' : '';
  return `${countText(accounts.length, 'account')}${others} and ${countText(keys.length, 'key')} set to it`;
}

function Affected({ affected: { accounts, keys, isOfNewAccounts } }: { readonly affected: AffectedByTier }) {
  return (
    <>
      <h2>Accounts that were given this tier</h2>
      {isOfNewAccounts && <p>All accounts without another tier have this one, too.</p>}
      <Table
        label="Accounts"
        columns={[
          {
            heading: 'Account',
            class: 'long',
            cell: ({ accountId, email }) => <AccountLink id={accountId} email={email} />,
          },
          timeColumn('Until', 'endsMs', 'no end'),
        ]}
        rows={accounts.slice(0, LISTED_MAX)}
        empty="No account was given this tier."
      />
      <More count={accounts.length} />
      <h2>Keys set to this tier</h2>
      <Table
        label="Keys"
        columns={[
          { heading: 'Key', cell: ({ name }) => name ?? <span class="quiet">no name</span> },
          PREFIX_COLUMN,
          {
            heading: 'Account',
            class: 'long',
            cell: ({ accountId, account }) => <AccountLink id={accountId} email={account} />,
          },
        ]}
        rows={keys.slice(0, LISTED_MAX)}
        empty="No key is set to this tier."
      />
      <More count={keys.length} />
    </>
  );
}

function More({ count }: { readonly count: number }) {
  return count > LISTED_MAX ? <p class="quiet">And {numberText(count - LISTED_MAX)} more.</p> : null;
}

function Retirement({ tier, affected }: { readonly tier: Tier; readonly affected: AffectedByTier }) {
  return (
    <>
      <h2>Retire</h2>
      <div class="card danger action">
        {affected.isOfNewAccounts ? (
          <p>
            This is the tier of new accounts: it cannot be retired before another one is set with{' '}
            <code>--new-account-tier</code>.
          </p>
        ) : (
          <>
            <p>A retired tier is not in the catalog: {countsText(affected)} keep it, and no others can get it.</p>
            <ConfirmedButton label="Retire" action="/admin/tiers/retire" fields={{ id: tier.id }}>
              {tier.name} cannot be put back into the catalog.
            </ConfirmedButton>
          </>
        )}
      </div>
    </>
  );
}
