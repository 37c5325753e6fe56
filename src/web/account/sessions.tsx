import type { SignedIn } from '../../account/account-sessions.ts';
import { formatInstant } from '../../domain/instant.ts';
import { sessionCookie } from '../cookies.ts';
import { personPage } from '../person-page.tsx';
import type { WebDeps } from '../routes.ts';
import { type Answer, redirect, type Visit } from '../visit.ts';

/** GET /account/sessions. */
export function sessionsPage({ service }: WebDeps, person: SignedIn): Answer {
  const sessions = service.sessions.list(person.account);
  return personPage(person, {
    title: 'Sessions',
    path: '/account/sessions',
    children: (
      <>
        <p class="quiet">The browsers that are signed in to this account.</p>
        <div class="card flush scroll">
          <table>
            <thead>
              <tr>
                <th>Browser</th>
                <th>Signed in by</th>
                <th>Signed in</th>
                <th>Last used</th>
                <th>
                  <span class="quiet">Action</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {sessions.map(({ id, method, userAgent, createdMs, lastUsedMs }) => (
                <tr key={id}>
                  <td>
                    {userAgent ?? 'unknown browser'}{' '}
                    {id === person.session.id && <span class="badge accent">this one</span>}
                  </td>
                  <td>{method}</td>
                  <td class="nowrap">{formatInstant(createdMs)}</td>
                  <td class="nowrap">{formatInstant(lastUsedMs)}</td>
                  <td>
                    <form method="post" action="/account/sessions/end">
                      <input type="hidden" name="session" value={id} />
                      <button class="button small" type="submit">
                        Sign out
                      </button>
                    </form>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <form class="row end" method="post" action="/account/sessions/end-all">
          <button class="button danger" type="submit">
            Sign out everywhere
          </button>
        </form>
      </>
    ),
  });
}

/** POST /account/sessions/end. */
export async function endSession({ service }: WebDeps, { account }: SignedIn, visit: Visit): Promise<Answer> {
  service.sessions.end(account, (await visit.form()).get('session') ?? '', account);
  return redirect('/account/sessions');
}

/** POST /account/sessions/end-all. */
export function signOutEverywhere({ service }: WebDeps, { account }: SignedIn): Answer {
  service.sessions.endAll(account, account);
  return redirect('/sign-in', sessionCookie(undefined));
}

/** POST /sign-out. */
export function signOut({ service }: WebDeps, person: SignedIn): Answer {
  service.sessions.signOut(person);
  return redirect('/sign-in', sessionCookie(undefined));
}
