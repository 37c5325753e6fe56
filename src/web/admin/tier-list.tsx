import { createTier } from '../../account/tier-catalog.ts';
import { tierCounts } from '../../store/tier-counts.ts';
import type { Page } from '../page.tsx';
import { personPage } from '../person-page.tsx';
import { type RefusedForm, refusedForm } from '../refused-form.ts';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { numberText } from '../texts.ts';
import { grantedText, priceText } from '../tier-texts.ts';
import { type Answer, redirect, type Visit } from '../visit.ts';
import { NEW_TIER_FIELDS, TierForm, tierOf } from './tier-form.tsx';

export const TIERS_PATH = '/admin/tiers';
const NUMBERS = ['Requests per minute', 'Accounts', 'Keys'];

/** GET /admin/tiers. */
export function tierList(deps: WebDeps, person: Person): Answer {
  return pageOfTiers(deps, person);
}

/** POST /admin/tiers/create. */
export async function addTier(deps: WebDeps, person: Person, visit: Visit): Promise<Answer> {
  const { archive, registry, nowMs } = deps;
  const form = await visit.form();
  const refused = refusedForm(form, () => {
    createTier({ registry, nowMs: nowMs(), actor: person }, tierOf(form), () => archive.recordedCoins.symbols());
  });
  return refused === undefined ? redirect(TIERS_PATH) : pageOfTiers(deps, person, refused);
}

function pageOfTiers({ registry, nowMs }: WebDeps, person: Person, refused?: RefusedForm): Page {
  const { catalog, counts } = registry.database.read(() => ({
    catalog: registry.tiers.all().toSorted((a, b) => Number(a.retiredMs ?? 0) - Number(b.retiredMs ?? 0)),
    counts: tierCounts(registry, nowMs()),
  }));
  const headings = ['Tier', 'Coins', 'Routes', 'Requests per minute', 'Price', 'Accounts', 'Keys'];
  return personPage(person, {
    title: 'Tiers',
    path: TIERS_PATH,
    refused,
    children: (
      <>
        <p class="quiet">The catalog, the lowest tier first. A change applies from the next request on.</p>
        <Table label="Tiers" headings={headings} numbers={NUMBERS} empty="There are no tiers.">
          {catalog.map((tier) => (
            <tr key={tier.id}>
              <td>
                <a href={`${TIERS_PATH}/${tier.id}`}>{tier.name}</a>{' '}
                {tier.retiredMs !== undefined && <span class="badge warn">retired</span>}
                <div class="quiet">{tier.id}</div>
              </td>
              <td>{grantedText(tier.coins)}</td>
              <td>{grantedText(tier.routes)}</td>
              <td class="number">{numberText(tier.requestsPerMinute)}</td>
              <td>{priceText(tier)}</td>
              <td class="number">{numberText(counts.accounts.get(tier.id) ?? 0)}</td>
              <td class="number">{numberText(counts.keys.get(tier.id) ?? 0)}</td>
            </tr>
          ))}
        </Table>
        <details class="card" open={refused !== undefined}>
          <summary class="opener">Add a tier</summary>
          <TierForm values={refused?.typed ?? NEW_TIER_FIELDS} hasPlace />
        </details>
      </>
    ),
  });
}
