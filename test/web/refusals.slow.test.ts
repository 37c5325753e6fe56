import { expect, test } from 'bun:test';
import { createOwnKey } from '../../src/account/account-keys.ts';
import { RECENT_SIGN_IN_MS } from '../../src/account/recent-sign-in.ts';
import type { Database } from '../../src/store/database.ts';
import { Passkeys } from '../../src/store/passkeys.ts';
import { ACCOUNT_FORMS, ACCOUNT_PAGES } from '../../src/web/account/routes.ts';
import { ADMIN_FORMS, ADMIN_PAGES } from '../../src/web/admin/routes.ts';
import { SIGN_IN_FORMS } from '../../src/web/sign-in/sign-in-pages.tsx';
import { catchMails } from '../account/smtp-catcher.ts';
import { SHOWN_PAGES } from '../browser/shown-pages.ts';
import { PlainBrowser } from './browser.ts';
import { type Site, startSite } from './site.ts';

const ADA = 'ada@example.com';
const EVE = 'eve@example.com';
const SESSION = '__Host-bookreel-session';

/** What browsers state about a form of another site; undefined: nothing. */
const FOREIGN = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { 'sec-fetch-site': undefined, origin: undefined },
  { 'sec-fetch-site': undefined, origin: 'null' },
  { 'sec-fetch-site': undefined, origin: 'https://evil.example' },
];

/** By the names of columns. */
type Row = Readonly<Record<string, unknown>>;

/** Every row of both databases that people change. */
function rowsOf({ people: { registry, activity } }: Site): Row[] {
  return [registry.database, activity].flatMap((database) => rowsIn(database));
}

function rowsIn(database: Database): Row[] {
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  return tables.flatMap(({ name }) => database.query<Row, []>(`SELECT '${name}', * FROM ${name}`).all());
}

/** Ada's key and session, and a link of an email to her new address, as the fields of any form. */
async function adasFields(site: Site, ada: PlainBrowser, link: () => Promise<string>): Promise<Record<string, string>> {
  const { registry, service, nowMs } = site.people;
  const actor = service.sessions.find(ada.cookies.get(SESSION))!;
  const { apiKey } = createOwnKey({ registry, nowMs: nowMs(), actor }, { name: 'of Ada' });
  service.emailChange.ask(actor, 'ada@other.org', '192.0.2.1');
  const { id, prefix } = apiKey;
  const session = actor.session.id;
  const account = String(actor.account.id);
  const passkey = addPasskey(site, actor.account.id);
  const secrets = { token: await link(), code: '000000' };
  return { key: id, prefix, session, passkey, ...secrets, email: ADA, account, keysBefore: '1' };
}

/** A passkey that nobody has, and its id. */
function addPasskey({ people: { registry, nowMs } }: Site, accountId: number): string {
  const { database, secret } = registry;
  const known = { credentialId: 'AA', publicKey: new Uint8Array(), counter: 0, transports: 'usb', name: 'of Ada' };
  const passkeys = new Passkeys(database, secret);
  return database.write(() => {
    passkeys.newCodes(accountId);
    return passkeys.add({ accountId, ...known, createdMs: nowMs() })!;
  });
}

/** The path with an id in place of its parameter. */
function pathWith(path: string, id: string): string {
  return path.replace(/:\w+/, id);
}

interface Case extends AsyncDisposable {
  readonly site: Site;
  readonly ada: PlainBrowser;
  readonly fields: Readonly<Record<string, string>>;
}

/** Ada is signed in, and is an admin if `role` says so. */
async function adaAs(role: 'user' | 'admin'): Promise<Case> {
  await using resources = new AsyncDisposableStack();
  const smtp = resources.use(await catchMails());
  const mail = { url: smtp.url, sender: 'bookreel@example.com', passwordFile: undefined };
  const site = resources.use(startSite({ mail }));
  const ada = await site.signedIn(ADA);
  const { registry } = site.people;
  registry.accounts.setRole(registry.accounts.findByEmail(ADA)!.id, role);
  const fields = await adasFields(site, ada, async () => (await smtp.nth(0)).link);
  const opened = resources.move();
  return { site, ada, fields, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

test('Every form of another site is refused, and changes nothing', async () => {
  await using opened = await adaAs('admin');
  const { site, ada, fields } = opened;
  const before = rowsOf(site);
  for (const form of [SIGN_IN_FORMS, ACCOUNT_FORMS, ADMIN_FORMS].flatMap((forms) => Object.keys(forms))) {
    for (const headers of [
      ...FOREIGN,
      { host: 'evil.example', 'sec-fetch-site': undefined, origin: 'http://evil.example' },
    ]) {
      const { status, text } = await ada.post(pathWith(form, fields.account!), fields, headers);
      const refused = expect.stringContaining('Another site sent this form');
      expect({ form, headers, status, text }).toEqual({ form, headers, status: 403, text: refused });
    }
  }
  expect(rowsOf(site)).toEqual(before);
  expect((await ada.open('/account')).status).toBe(200);
});

test('Without a session every page and form leads to the sign-in, and changes nothing', async () => {
  await using opened = await adaAs('admin');
  const { site, fields } = opened;
  const before = rowsOf(site);
  const browser = new PlainBrowser(site.origin);
  for (const [routes, send] of [
    [{ ...ACCOUNT_PAGES, ...ADMIN_PAGES }, (path: string) => browser.open(path)],
    [{ ...ACCOUNT_FORMS, ...ADMIN_FORMS }, (path: string) => browser.post(path, fields)],
  ] as const) {
    for (const path of Object.keys(routes)) {
      const { status, headers } = await send(pathWith(path, fields.account!));
      expect([path, status, headers.get('location')]).toEqual([path, 303, '/sign-in']);
    }
  }
  expect(rowsOf(site)).toEqual(before);
});

test('No form of a person changes anything of another account', async () => {
  await using opened = await adaAs('user');
  const { site, ada, fields } = opened;
  const { registry } = site.people;
  const adasId = registry.accounts.findByEmail(ADA)!.id;
  const aboutAda = () => rowsOf(site).filter(({ account_id: account }) => account === adasId);
  for (const form of Object.keys(ACCOUNT_FORMS)) {
    const eve = await site.signedIn(EVE);
    const before = aboutAda();
    const { status } = await eve.post(form, fields);
    if (/rotate|revoke|\/end$|link|delete|remove/.test(form)) {
      expect([form, [400, 403, 404].includes(status)]).toEqual([form, true]);
    }
    expect([form, aboutAda()]).toEqual([form, before]);
  }
  expect((await ada.open('/account')).status).toBe(200);
});

test('Administration is refused to users, and sends admins with an old sign-in to sign in again', async () => {
  await using opened = await adaAs('user');
  const { site, ada, fields } = opened;
  const { registry, passTime } = site.people;
  const all = async () => {
    const answers = [];
    for (const path of Object.keys(ADMIN_PAGES))
      answers.push([path, await ada.open(pathWith(path, fields.account!))] as const);
    for (const path of Object.keys(ADMIN_FORMS))
      answers.push([path, await ada.post(pathWith(path, fields.account!), fields)] as const);
    return answers.map(([path, { status, headers }]) => [path, status, headers.get('location')]);
  };
  const paths = [...Object.keys(ADMIN_PAGES), ...Object.keys(ADMIN_FORMS)];
  const asUser = rowsOf(site);
  expect(await all()).toEqual(paths.map((path) => [path, 403, null]));
  expect(rowsOf(site)).toEqual(asUser);
  registry.accounts.setRole(registry.accounts.findByEmail(ADA)!.id, 'admin');
  passTime(RECENT_SIGN_IN_MS);
  await ada.open('/account');
  const asAdmin = rowsOf(site);
  expect(await all()).toEqual(paths.map((path) => [path, 303, '/sign-in']));
  expect(rowsOf(site)).toEqual(asAdmin);
});

test('A form that is still being received when its session ends changes nothing', async () => {
  await using opened = await adaAs('admin');
  const { site, ada, fields } = opened;
  const { service } = site.people;
  const cookie = `${SESSION}=${ada.cookies.get(SESSION)}`;
  const forms = [...Object.keys(ACCOUNT_FORMS), ...Object.keys(ADMIN_FORMS)].filter(
    // These read no fields, and only end sessions.
    (form) => !/sign-out|end-all/.test(form),
  );
  const gates = forms.map(() => Promise.withResolvers<void>());
  const answers = forms.map(
    async (form, at) =>
      await fetch(new URL(form, site.origin), {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
        body: new ReadableStream<Uint8Array>({
          async start(controller) {
            controller.enqueue(Buffer.from('late='));
            await gates[at]!.promise;
            controller.enqueue(Buffer.from(`&${new URLSearchParams(fields)}`));
            controller.close();
          },
        }),
      }),
  );
  // Answered after the others have begun.
  await ada.open('/account');
  const { account } = service.sessions.find(ada.cookies.get(SESSION))!;
  service.sessions.endAll(account, { account });
  const before = rowsOf(site);
  for (const gate of gates) gate.resolve();
  const shown = (await Promise.all(answers)).map(({ status, headers }) => [status, headers.get('location')]);
  expect(shown).toEqual(forms.map(() => [303, '/sign-in']));
  expect(rowsOf(site)).toEqual(before);
});

test('every page of a person is among those that are checked in a browser', () => {
  const service = {
    origin: 'http://a',
    replayOrigin: 'http://b',
    accountId: () => 1,
    signInLink: async () => '',
    [Symbol.asyncDispose]: async () => {},
  };
  const shown = SHOWN_PAGES.map(({ path }) => new URL(path(service)).pathname);
  // Left out: paths with a parameter, files, /admin, which leads to /admin/accounts, links of emails, and payments, which need anvil.
  const paths = Object.keys({ ...ACCOUNT_PAGES, ...ADMIN_PAGES }).filter(
    (path) => !/:|csv$|^\/admin$|link$|payments$/.test(path),
  );
  for (const path of paths) expect(shown).toContain(path);
});
