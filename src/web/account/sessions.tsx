import { browserName } from '../browser-name.ts';
import { sessionCookie } from '../cookies.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { Time } from '../time.tsx';
import { type Answer, redirect, type Visit } from '../visit.ts';

/** Others are names of providers. */
const METHODS: Readonly<Record<string, string>> = { email: 'mail', command: 'sign-in link' };

/** GET /account/sessions. */
export function sessionsPage({ service }: WebDeps, person: Person): Answer {
  const sessions = service.sessions.list(person.account);
  return personPage(person, {
    title: 'Sessions',
    path: '/account/sessions',
    children: (
      <>
        <p class="quiet">The browsers that are signed in to this account.</p>
        <Table label="Sessions" headings={['Browser', 'Signed in by', 'Signed in', 'Last used', '']} empty="">
          {sessions.map(({ id, method, userAgent, createdMs, lastUsedMs }) => (
            <tr key={id}>
              <td title={userAgent}>
                {browserName(userAgent)} {id === person.session.id && <span class="badge accent">this one</span>}
              </td>
              <td>{METHODS[method] ?? method}</td>
              <td>
                <Time ms={createdMs} />
              </td>
              <td>
                <Time ms={lastUsedMs} />
              </td>
              <td class="number">
                <form method="post" action="/account/sessions/end">
                  <input type="hidden" name="session" value={id} />
                  <button class="button small" type="submit">
                    Sign out
                  </button>
                </form>
              </td>
            </tr>
          ))}
        </Table>
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
export async function endSession({ service }: WebDeps, { account }: Person, visit: Visit): Promise<Answer> {
  service.sessions.end(account, (await visit.form()).get('session') ?? '', account);
  return redirect('/account/sessions');
}

/** POST /account/sessions/end-all. */
export function signOutEverywhere({ service }: WebDeps, { account }: Person): Answer {
  service.sessions.endAll(account, account);
  return redirect('/sign-in', sessionCookie(undefined));
}

/** POST /sign-out. */
export function signOut({ service }: WebDeps, person: Person): Answer {
  service.sessions.signOut(person);
  return redirect('/sign-in', sessionCookie(undefined));
}
