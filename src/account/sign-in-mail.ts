import { type Mail, mailOf } from './mail.ts';

interface SignInRequest {
  readonly email: string;
  readonly link: string;
  readonly code: string;
  readonly publicUrl: string;
  /** The OIDC provider whose identity is linked to the account. */
  readonly provider: string | undefined;
}

/** The mail with the link and the code. */
export function signInMail({ email, link, code, publicUrl, provider }: SignInRequest): Mail {
  const { host } = new URL(publicUrl);
  const intro =
    provider === undefined
      ? `Open this link to sign in to bookreel at ${host} as ${email}:`
      : `Open this link in the same browser to sign in to bookreel at ${host} as ${email}, and to let your account at ${provider} sign in from now on:`;
  return mailOf(email, `Sign in to bookreel at ${host}`, [
    intro,
    { link },
    'Or enter this code in the browser in which you asked for it:',
    { code },
    'Both work once, for 15 minutes. If you did not ask for this mail, do nothing, and give the code to nobody.',
  ]);
}
