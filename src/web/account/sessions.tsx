import { auditPage } from '../../account/audit-page.ts';
import { ENTRY_COLUMNS } from '../admin/audit.tsx';
import { signInWay } from '../audit-sentence.ts';
import { browserName } from '../browser-name.ts';
import { sessionCookie } from '../cookies.ts';
import { Form } from '../form.tsx';
import { type Answer, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import { Table } from '../table.tsx';
import { Time, timeColumn } from '../time.tsx';

const SIGN_INS_MAX = 10;

/** GET /account/sessions. */
export function sessionsPage({ registry, service }: WebDeps, person: Person): Answer {
  const sessions = service.sessions.list(person.account);
  const signIns = { limit: SIGN_INS_MAX, accountId: person.account.id, action: 'session.sign-in' };
  return personPage(
    person,
    { title: 'Sessions', path: '/account/sessions' },
    <>
      <p class="quiet">
        These browsers are signed in to your account. A sign-in ends after 14 days without use, and after 90 days in any
        case.
      </p>
      <Table
        label="Sessions"
        columns={[
          {
            heading: 'Browser',
            cell: ({ id, userAgent }) => (
              <>
                <span title={userAgent}>{browserName(userAgent)}</span>{' '}
                {id === person.session.id && <span class="badge accent">this one</span>}
              </>
            ),
          },
          {
            heading: 'Signed in (UTC)',
            cell: ({ method, createdMs }) => (
              <>
                <Time ms={createdMs} part="minutes" /> {signInWay(method)}
              </>
            ),
          },
          timeColumn('Last used', 'lastUsedMs'),
          {
            heading: '',
            class: 'number main',
            cell: ({ id }) => (
              <Form action="/account/sessions/end" hidden={{ session: id }} button="Sign out" look="small" />
            ),
          },
        ]}
        rows={sessions}
        empty=""
      />
      <Form class="card danger action" action="/account/sessions/end-all" button="Sign out everywhere" look="danger">
        <p>This signs out all browsers, this one too. Your keys go on working.</p>
      </Form>
      <h2>Latest sign-ins</h2>
      <Table
        label="Latest sign-ins"
        columns={ENTRY_COLUMNS.slice(1, 3)}
        rows={auditPage(registry, signIns)}
        empty="There are none."
      />
    </>,
  );
}

export const SESSION_FORMS: PersonRoutes = {
  '/account/sessions/end': posted(({ service, person, field }) => {
    service.sessions.end(person.account, field('session'), person);
    return redirect('/account/sessions');
  }),
  '/account/sessions/end-all': ({ service }, person) => {
    service.sessions.endAll(person.account, person);
    return redirect('/sign-in', sessionCookie(undefined));
  },
  '/sign-out': ({ service }, person) => {
    service.sessions.signOut(person);
    return redirect('/sign-in', sessionCookie(undefined));
  },
};
