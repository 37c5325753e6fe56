import { plainPage, plainPageHeaders } from '../http/docs/page.ts';
import { type Html, html } from './html.ts';

/** A page about a person: it is not stored, and its forms are sent only to this service. */
export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function pageOf(title: string, content: Html, status = 200): Page {
  const { text } = html`<p><a href="/">bookreel</a></p>
<h1>${title}</h1>
${content}`;
  const headers = plainPageHeaders();
  const policy = headers['content-security-policy']!.replace("form-action 'none'", "form-action 'self'");
  return {
    status,
    headers: {
      ...headers,
      'content-security-policy': `${policy}; require-trusted-types-for 'script'; trusted-types 'none'`,
      'cache-control': 'no-store',
      // With no-referrer, forms would send the origin null.
      'referrer-policy': 'same-origin',
    },
    body: plainPage(`${title} · bookreel`, text),
  };
}
