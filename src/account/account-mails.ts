import { type Mail, mailOf } from './mail.ts';

interface SignInRequest {
  readonly email: string;
  readonly link: string;
  readonly code: string;
  readonly publicUrl: string;
  /** The OIDC provider whose identity is linked to the account. */
  readonly provider: string | undefined;
}

/** The mail with the link and the code of a sign-in. */
export function signInMail({ email, link, code, publicUrl, provider }: SignInRequest): Mail {
  const { host } = new URL(publicUrl);
  const intro =
    provider === undefined
      ? `Open this link to sign in to bookreel at ${host} as ${email}:`
      : `Open this link in the browser in which you signed in at ${provider}. It signs you in to bookreel at ${host} as ${email}, and from now on you can sign in with ${provider}:`;
  return mailOf(email, `Sign in to bookreel at ${host}`, [
    intro,
    { link },
    'Or type this code in the browser in which you asked for this mail:',
    { code },
    'The link and the code work once, for 15 minutes. If you did not ask for this mail, ignore it, and give the code to nobody.',
  ]);
}

interface AddressChange {
  readonly from: string;
  readonly to: string;
  readonly link: string;
  readonly publicUrl: string;
}

/** The mail to the new address of an account, with the link that changes the address. */
export function confirmationMail({ from, to, link, publicUrl }: AddressChange): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Confirm your new address for bookreel at ${host}`, [
    `Open this link in a browser that is signed in as ${from}. From then on you sign in to bookreel at ${host} as ${to}:`,
    { link },
    'It works once, for 15 minutes. If you did not ask for this mail, ignore it.',
  ]);
}

/** The mail to an address that has an account already. It does not name the account that wants the address. */
export function takenMail({ to, publicUrl }: Pick<AddressChange, 'to' | 'publicUrl'>): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Your address at bookreel at ${host}`, [
    `Somebody who is signed in to bookreel at ${host} wanted to use ${to} for another account. This address has an account already, so nothing was changed. If it was you, sign in to the account of this address here:`,
    { link: `${publicUrl}/sign-in` },
    'If it was not you, ignore this mail.',
  ]);
}

/** The mail to the former address. It does not name the new one: the former address may belong to somebody else now. */
export function changedMail({ from, publicUrl }: Pick<AddressChange, 'from' | 'publicUrl'>): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(from, `Your address at bookreel at ${host} was changed`, [
    `The account ${from} of bookreel at ${host} has another e-mail address now. You cannot sign in to it as ${from} any more.`,
    'If you did not change it, tell the operator of this service, who can sign out all browsers and change the address back.',
  ]);
}
