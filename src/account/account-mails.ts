import { timeText } from '../domain/instant.ts';
import type { DueMail } from '../store/payment-mails.ts';
import { type Mail, mailOf } from './mail.ts';

interface SignInRequest {
  readonly email: string;
  readonly link: string;
  readonly code: string;
  readonly publicUrl: string;
  /** The OIDC provider that did not verify the address, if the sign-in began there. Its identity is linked only to a new account. */
  readonly provider: string | undefined;
  readonly isNew: boolean;
}

/** The email with the link and the code of a sign-in. */
export function signInMail({ email, link, code, publicUrl, provider, isNew }: SignInRequest): Mail {
  const { host } = new URL(publicUrl);
  const further = isNew
    ? `From now on you can sign in with ${provider}`
    : `To sign in with ${provider} from now on, link it in your settings`;
  const intro =
    provider === undefined
      ? `Open this link to sign in to bookreel at ${host} as ${email}:`
      : `Open this link in the browser in which you signed in at ${provider}. It signs you in to bookreel at ${host} as ${email}. ${further}:`;
  return mailOf(email, `Sign in to bookreel at ${host}`, [
    intro,
    { link },
    'Or type this code in the browser in which you asked for this email:',
    { code },
    'The link and the code work once, for 15 minutes. If you did not ask for this email, ignore it, and give the code to nobody.',
  ]);
}

interface AddressChange {
  readonly from: string;
  readonly to: string;
  readonly link: string;
  readonly publicUrl: string;
}

/** The email to the new address of an account, with the link that changes the address. */
export function confirmationMail({ from, to, link, publicUrl }: AddressChange): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Confirm your new address for bookreel at ${host}`, [
    `Open this link in a browser that is signed in as ${from}. From then on you sign in to bookreel at ${host} as ${to}:`,
    { link },
    'It works once, for 15 minutes. If you did not ask for this email, ignore it.',
  ]);
}

/** The email to an address that has an account already. It does not name the account that wants the address. */
export function takenMail({ to, publicUrl }: Pick<AddressChange, 'to' | 'publicUrl'>): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `Your address at bookreel at ${host}`, [
    `Somebody who is signed in to bookreel at ${host} wanted to use ${to} for another account. This address has an account already, so nothing was changed. If it was you, sign in to the account of this address here:`,
    { link: `${publicUrl}/sign-in` },
    'If it was not you, ignore this email.',
  ]);
}

/**
 * The emails about a changed address, to both, with the link that undoes it. The one to the former address does not name the new one: the
 * former may belong to somebody else now.
 */
export function changedMails({ from, to, link, publicUrl }: AddressChange): Mail[] {
  const { host } = new URL(publicUrl);
  const subject = `Your address at bookreel at ${host} was changed`;
  const former = `The account ${from} of bookreel at ${host} has another email address now. You cannot sign in to it as ${from} any more.`;
  const present = `You sign in to bookreel at ${host} as ${to} from now on, not as ${from}.`;
  return [mailOf(from, subject, [former, ...undoParts(link)]), mailOf(to, subject, [present, ...undoParts(link)])];
}

/** The email about a linked identity of a provider, with the link that undoes it. */
export function linkedMail(email: string, provider: string, link: string, publicUrl: string): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(email, `${provider} signs in to bookreel at ${host}`, [
    `${provider} signs in to the account ${email} of bookreel at ${host} from now on: it was linked in the settings.`,
    ...undoParts(link),
  ]);
}

/** The email about a new passkey, with the link that undoes it. */
export function passkeyMail(email: string, name: string, link: string, publicUrl: string): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(email, `A passkey signs in to bookreel at ${host}`, [
    `The passkey '${name}' signs in to the account ${email} of bookreel at ${host} from now on: it was added in the settings.`,
    ...undoParts(link),
  ]);
}

/** The end of an email about a change of how a person signs in. */
function undoParts(link: string) {
  return [
    'All other browsers were signed out. If you did not do this, open the following link within 7 days. It undoes this and all later changes of how the account signs in, and signs out all browsers:',
    { link },
  ];
}

/** The email about a change in the settings that no link undoes. `what`: a sentence without its full stop. */
export function settingMail(email: string, what: string, publicUrl: string): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(email, `A setting of your account at bookreel at ${host} was changed`, [
    `${what} in the settings of the account ${email} of bookreel at ${host}.`,
    'If you did not do this, sign in by email and sign out all browsers here:',
    { link: `${publicUrl}/account/sessions` },
  ]);
}

/** The email to the address that an account had until changes of it were undone. It does not name the present one. */
export function undoneMail(email: string, publicUrl: string): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(email, `Changes of your account at bookreel at ${host} were undone`, [
    `The link in an email was used to undo changes of how the account ${email} of bookreel at ${host} signs in. All its browsers are signed out.`,
    'If you did not do this, tell the operator of this service.',
  ]);
}

interface AdminChanges extends Pick<AddressChange, 'to' | 'publicUrl'> {
  /** Without a full stop: `Disabled the account`. */
  readonly sentences: readonly string[];
}

/** The email to the owner of an account about what an admin did with it. */
export function adminChangesMail({ to, sentences, publicUrl }: AdminChanges): Mail {
  const { host } = new URL(publicUrl);
  return mailOf(to, `An admin changed your account at ${host}`, [
    `An admin of bookreel at ${host} did this with your account ${to}:`,
    ...sentences.map((sentence) => `${sentence}.`),
    'If you did not expect it, ask the operator of this service.',
  ]);
}

/** The email to a buyer after a purchase, or before its end. */
export function buyerMail(due: DueMail, publicUrl: string): Mail {
  const { occasion, email, tier, priceCents, quoteId, startsMs, endsMs } = due;
  const { host } = new URL(publicUrl);
  if (occasion === 'receipt') {
    return mailOf(email, `You bought ${tier} of bookreel at ${host}`, [
      `The account ${email} of bookreel at ${host} has paid $${(priceCents / 100).toFixed(2)} for the tier ${tier}. It lasts from ${timeText(startsMs)} until ${timeText(endsMs)}, and nothing more is charged.`,
      'The receipt is here:',
      { link: `${publicUrl}/account/plan/${quoteId}` },
    ]);
  }
  const left = occasion === 'week' ? 'in 7 days' : 'in a day';
  return mailOf(email, `Your tier ${tier} of bookreel at ${host} ends ${left}`, [
    `The tier ${tier} of the account ${email} of bookreel at ${host} ends at ${timeText(endsMs)}. Nothing is charged automatically.`,
    'To keep it, buy it again before that. It then lasts 30 days longer:',
    { link: `${publicUrl}/account/plan` },
  ]);
}
