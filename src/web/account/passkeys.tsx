import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { Passkeys } from '../../store/passkeys.ts';
import { browserName } from '../browser-name.ts';
import { Field, Form, PasskeyForm } from '../form.tsx';
import { type Answer, jsonOf, redirect } from '../page-request.ts';
import { type Person, type PersonRoutes, personPage, posted, type WebDeps } from '../person-page.tsx';
import { Table } from '../table.tsx';
import { timeColumn } from '../time.tsx';

const PATH = '/account/settings';
const ACTION = `${PATH}/passkeys`;
const NONE =
  'A passkey signs you in with your fingerprint, your face or the PIN of your device. From then on, the other ways to sign in ask for it too.';

/** The passkeys of the person, and the forms that change them. */
export function PasskeySettings({ deps, accountId }: { readonly deps: WebDeps; readonly accountId: number }) {
  const { database, secret } = deps.registry;
  const store = new Passkeys(database, secret);
  const { passkeys, codes } = database.read(() => ({
    passkeys: store.ofAccount(accountId),
    codes: store.codesLeft(accountId),
  }));
  return (
    <>
      <h2>Passkeys</h2>
      {passkeys.length > 0 && (
        <Table
          label="Passkeys"
          columns={[
            { heading: 'Name', cell: ({ id, name }) => <span title={id}>{name}</span> },
            timeColumn('Added', 'createdMs'),
            timeColumn('Last used', 'lastUsedMs', 'never'),
            {
              heading: '',
              class: 'number',
              cell: ({ id }) => (
                <Form action={`${ACTION}/remove`} hidden={{ passkey: id }} button="Remove" look="small" />
              ),
            },
          ]}
          rows={passkeys}
          empty=""
        />
      )}
      {passkeys.length > 0 && (
        <Form class="card" action={`${PATH}/recovery-codes`} button="New recovery codes">
          <p>
            Recovery codes left: <strong>{codes}</strong>. Each replaces a passkey once. New codes end the former ones.
          </p>
        </Form>
      )}
      {deps.service.passkeys.arePossible ? (
        <PasskeyForm action={ACTION} button="Add a passkey">
          {passkeys.length === 0 && <p>{NONE}</p>}
          <Field label="Name of the passkey" name="name" autocomplete="off" maxLength={100}>
            Optional: tells your passkeys apart. Adding a passkey signs out your other sessions.
          </Field>
        </PasskeyForm>
      ) : (
        <div class="card">
          {passkeys.length === 0 && <p>{NONE}</p>}
          <p class="quiet">
            Passkeys need a domain name, such as books.example.com. This service has only an IP address.
          </p>
        </div>
      )}
    </>
  );
}

export const PASSKEY_FORMS: PersonRoutes = {
  // For the script of the form.
  [`${ACTION}/options`]: posted(({ service, person }) => jsonOf(service.passkeys.creationOptions(person))),
  // With the first passkey the answer shows recovery codes.
  [ACTION]: posted(async ({ service, person, change, field, request: { browser } }) => {
    const name = field('name').trim() || browserName(browser.userAgent);
    const codes = await service.passkeys.add(change, { posted: field('answer'), name, device: browser.device });
    return codes === undefined ? redirect(PATH) : codesPage(person, codes);
  }),
  [`${ACTION}/remove`]: posted(({ service, change, field }) => {
    service.passkeys.remove(change, field('passkey'));
    return redirect(PATH);
  }),
  [`${PATH}/recovery-codes`]: posted(({ service, person, change }) =>
    codesPage(person, service.passkeys.replaceCodes(change)),
  ),
};

/** The only page that shows recovery codes. */
function codesPage(person: Person, codes: readonly string[]): Answer {
  return personPage(
    person,
    { title: 'Your recovery codes', path: PATH, back: { href: PATH, name: 'Settings' }, scripts: [COPY_SCRIPT] },
    <>
      <p class="notice warn">
        Keep these codes: they are shown only on this page. Each signs you in once if you lose your passkey, after an
        email or a provider.
      </p>
      <div class="card">
        <Copyable id="codes" label="Copy the codes" text={codes.join('\n')} />
      </div>
    </>,
  );
}
