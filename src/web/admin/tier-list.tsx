import { createTier } from '../../account/tier-catalog.ts';
import type { Tier } from '../../domain/tier.ts';
import { type TierCounts, tierCounts } from '../../store/tier-counts.ts';
import { type Answer, type PageRequest, redirect } from '../page-request.ts';
import { type Person, personPage, posted, type WebDeps } from '../person-page.tsx';
import { type RefusedForm, refusedForm } from '../posted-form.ts';
import { type Column, Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { coinsText, priceText, TERM } from '../tier-texts.ts';
import { coinsToChoose, NEW_TIER_FIELDS, TierForm, tierOf } from './tier-form.tsx';

export const TIERS_PATH = '/admin/tiers';

/** POST /admin/tiers/create. */
export const addTier = posted(({ person, request, change, form, ...deps }) => {
  const refused = refusedForm(form, () => {
    createTier(change, tierOf(form), () => deps.archive.recordedCoins.symbols());
  });
  return refused === undefined ? redirect(TIERS_PATH) : tierList(deps, person, request, refused);
});

/** GET /admin/tiers?add. With it, or `refused`, the page begins with the form of a new tier. */
export async function tierList(
  { registry, archive, nowMs }: WebDeps,
  person: Person,
  { query }: PageRequest,
  refused?: RefusedForm,
): Promise<Answer> {
  const isAdding = query.has('add') || refused !== undefined;
  const counts = await tierCounts(registry, nowMs());
  const { catalog, retired } = registry.database.read(() => ({
    catalog: registry.tiers.list(),
    retired: registry.tiers.all().filter(({ retiredMs }) => retiredMs !== undefined),
  }));
  return personPage(
    person,
    {
      title: 'Tiers',
      path: TIERS_PATH,
      refused,
      action: !isAdding && (
        <a class="button primary" href={`${TIERS_PATH}?add`}>
          Add a tier
        </a>
      ),
    },
    <>
      {isAdding && (
        <>
          <h2>Add a tier</h2>
          <div class="card">
            <TierForm values={NEW_TIER_FIELDS} refused={refused} hasPlace coins={coinsToChoose(archive)} />
          </div>
          <h2>The catalog</h2>
        </>
      )}
      <p class="quiet">
        The lowest tier comes first. An account that was given several has the highest of them. Customers see the tiers
        by price. Prices are for 30 days.
      </p>
      <Table label="Tiers" columns={columns(counts)} rows={[...catalog, ...retired]} empty="There are no tiers." />
    </>,
  );
}

function columns({ accounts, keys }: TierCounts): Column<Tier>[] {
  return [
    {
      heading: 'Tier',
      cell: ({ id, name }) => (
        <>
          <a href={`${TIERS_PATH}/${id}`}>{name}</a>
          {id !== name.toLowerCase() && <div class="quiet">{id}</div>}
        </>
      ),
    },
    {
      heading: 'State',
      isPlain: true,
      cell: ({ retiredMs, monthlyPriceUsd: price }) => {
        if (retiredMs !== undefined) return <span class="badge warn">retired</span>;
        if (price === undefined) return <span class="badge">not sold</span>;
        return <span class="badge good">{price === 0 ? 'free' : 'on sale'}</span>;
      },
    },
    { heading: 'Coins', class: 'nowrap', cell: coinsText },
    { heading: 'Routes', class: 'most', cell: ({ routes }) => routes?.join(', ') ?? 'All' },
    {
      heading: 'Per minute',
      class: 'number nowrap',
      cell: ({ requestsPerMinute }) => numberText(requestsPerMinute),
    },
    { heading: 'Price', class: 'number nowrap main', isPlain: true, cell: (tier) => priceText(tier).replace(TERM, '') },
    { heading: 'Accounts', class: 'number nowrap', cell: ({ id }) => numberText(accounts.get(id) ?? 0) },
    { heading: 'Keys', class: 'number nowrap', cell: ({ id }) => numberText(keys.get(id) ?? 0) },
  ];
}
