import { COPY_SCRIPT } from '../../http/pages/assets.ts';
import { Copyable } from '../../http/pages/copyable.tsx';
import { Passkeys } from '../../store/passkeys.ts';
import { browserName } from '../browser-name.ts';
import { Field, Form, PasskeyForm } from '../form.tsx';
import { type Answer, jsonOf, type PageRequest, redirect } from '../page-request.ts';
import { personPage } from '../person-page.tsx';
import type { Person, WebDeps } from '../routes.ts';
import { Table } from '../table.tsx';
import { Time } from '../time.tsx';

const PATH = '/account/settings';
const ACTION = `${PATH}/passkeys`;

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
      <Table
        label="Passkeys"
        columns={[
          { heading: 'Name', cell: ({ id, name }) => <span title={id}>{name}</span> },
          { heading: 'Added', cell: ({ createdMs }) => <Time ms={createdMs} /> },
          { heading: 'Last used', cell: ({ lastUsedMs }) => <Time ms={lastUsedMs ?? undefined} or="never" /> },
          {
            heading: '',
            class: 'number',
            cell: ({ id }) => (
              <Form action={`${ACTION}/remove`} hidden={{ passkey: id }} button="Remove" look="small" />
            ),
          },
        ]}
        rows={passkeys}
        empty="None yet. With a passkey, nobody signs in to your account by mail or a provider alone."
      />
      {passkeys.length > 0 && (
        <Form class="card" action={`${PATH}/recovery-codes`} button="New recovery codes">
          <p>
            Recovery codes left: <strong>{codes}</strong>. Each replaces a passkey once. New codes end the former ones.
          </p>
        </Form>
      )}
      {deps.service.passkeys.arePossible ? (
        <PasskeyForm action={ACTION} button="Add a passkey">
          <Field label="Name of the passkey" name="name" autocomplete="off" maxLength={100}>
            A name for this list. When the passkey is added, your other sessions end.
          </Field>
        </PasskeyForm>
      ) : (
        <p class="card">Browsers have no passkeys for an address: open this service by a name, such as localhost.</p>
      )}
    </>
  );
}

/** POST /account/settings/passkeys/options: for the script of the form. */
export async function passkeyOptions({ service }: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  await request.form();
  return jsonOf(service.passkeys.creationOptions(person));
}

/** POST /account/settings/passkeys. With the first passkey the answer shows recovery codes. */
export async function addPasskey(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  const form = await request.form();
  const name = form.get('name')?.trim() || browserName(request.browser.userAgent);
  const answer = { posted: form.get('answer') ?? '', name, device: request.browser.device };
  const codes = await deps.service.passkeys.add(changeOf(deps, person), answer);
  return codes === undefined ? redirect(PATH) : codesPage(person, codes);
}

/** POST /account/settings/passkeys/remove. */
export async function removeOwnPasskey(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  deps.service.passkeys.remove(changeOf(deps, person), (await request.form()).get('passkey') ?? '');
  return redirect(PATH);
}

/** POST /account/settings/recovery-codes. */
export async function newCodes(deps: WebDeps, person: Person, request: PageRequest): Promise<Answer> {
  await request.form();
  return codesPage(person, deps.service.passkeys.replaceCodes(changeOf(deps, person)));
}

/** The only page that shows recovery codes. */
function codesPage(person: Person, codes: readonly string[]): Answer {
  return personPage(
    person,
    { title: 'Your recovery codes', path: PATH, scripts: [COPY_SCRIPT] },
    <>
      <p class="notice warn">
        Keep these codes: they are shown only on this page. Each signs you in once if you lose your passkey, after a
        mail or a provider.
      </p>
      <div class="card">
        <Copyable id="codes" label="Copy the codes" text={codes.join('\n')} />
      </div>
      <a href={PATH}>Your settings</a>
    </>,
  );
}

function changeOf({ registry, nowMs }: WebDeps, person: Person) {
  return { registry, nowMs: nowMs(), actor: person };
}
