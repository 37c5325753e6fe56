import { type Mail, mailOf } from './mail.ts';

interface Change {
  readonly from: string;
  readonly to: string;
  readonly link: string;
  readonly publicUrl: string;
}

/** To the new address: the link that makes it the account's. */
export function confirmationMail({ from, to, link, publicUrl }: Change): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Confirm your address for bookreel at ${host}`, [
    `Open this link, in a browser that is signed in as ${from}, to sign in to bookreel at ${host} with ${to} from now on:`,
    { link },
    'It works once, for 15 minutes. If you did not ask for this mail, do nothing.',
  ]);
}

/** To an address that has an account. It does not name the account that asked. */
export function takenMail({ to, publicUrl }: Pick<Change, 'to' | 'publicUrl'>): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Your address at bookreel at ${host}`, [
    `A person who is signed in to bookreel at ${host} asked to use ${to} for another account. This address has an account already, so nothing was changed. If that was you, sign in to that account here:`,
    { link: `${publicUrl}/sign-in` },
    'If it was not you, do nothing.',
  ]);
}

/** To the former address. It does not name the new one: the former address may belong to somebody else by now. */
export function changedMail({ from, publicUrl }: Pick<Change, 'from' | 'publicUrl'>): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(from, `Your address at bookreel at ${host} was changed`, [
    `The account ${from} of bookreel at ${host} has another e-mail address now, and ${from} does not sign in to it any more.`,
    'If it was not you, tell the operator of this service: the operator can end all sessions and change the address back.',
  ]);
}
