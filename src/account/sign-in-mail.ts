/** A mail to one address in canonical spelling (domain/email-address.ts). */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

interface SignInRequest {
  readonly email: string;
  readonly link: string;
  readonly code: string;
  readonly publicUrl: string;
  /** The OIDC provider whose identity is linked to the account. */
  readonly provider: string | undefined;
}

/** The mail with the link and the code. It loads nothing: no images, fonts or counters. */
export function signInMail({ email, link, code, publicUrl, provider }: SignInRequest): Mail {
  const { host } = new URL(publicUrl);
  const spaced = `${code.slice(0, 3)} ${code.slice(3)}`;
  const intro =
    provider === undefined
      ? `Open this link to sign in to bookreel at ${host} as ${email}:`
      : `Open this link in the same browser to sign in to bookreel at ${host} as ${email}, and to let your account at ${provider} sign in from now on:`;
  const orCode = 'Or enter this code in the browser in which you asked for it:';
  const end =
    'Both work once, for 15 minutes. If you did not ask for this mail, do nothing, and give the code to nobody.';
  return {
    to: email,
    subject: `Sign in to bookreel at ${host}`,
    text: `${intro}\n\n${link}\n\n${orCode}\n\n${spaced}\n\n${end}\n`,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sign in to bookreel</title></head>
<body style="font-family:sans-serif">
<p>${Bun.escapeHTML(intro)}</p>
<p><a href="${Bun.escapeHTML(link)}">${Bun.escapeHTML(link)}</a></p>
<p>${orCode}</p>
<p style="font-size:1.6em;letter-spacing:.1em"><strong>${spaced}</strong></p>
<p>${end}</p>
</body></html>
`,
  };
}
