import type { SignedIn } from '../../account/account-sessions.ts';
import { personPage } from '../person-page.tsx';
import type { WebDeps } from '../routes.ts';
import type { Answer } from '../visit.ts';

/** GET /account. */
export function overviewPage({ registry, nowMs }: WebDeps, person: SignedIn): Answer {
  const { account } = person;
  const { tier, keys } = registry.database.read(() => ({
    tier: registry.accountTiers.at(account.id, nowMs()).tier,
    keys: registry.apiKeys.ofAccount(account.id).filter(({ revokedMs }) => revokedMs === undefined),
  }));
  return personPage(person, {
    title: 'Your account',
    path: '/account',
    children: (
      <div class="cards">
        <dl class="card figure">
          <dt>Tier</dt>
          <dd>{tier.name}</dd>
        </dl>
        <dl class="card figure">
          <dt>Keys</dt>
          <dd>{keys.length}</dd>
        </dl>
      </div>
    ),
  });
}
