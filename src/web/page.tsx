import type { ComponentChildren } from 'preact';
import type { DomainError } from '../domain/errors.ts';
import { type DocumentContent, htmlDocument } from '../http/pages/document.tsx';
import { personalPageHeaders } from '../http/pages/page-headers.ts';

/** A page about a person: it is not stored, and its forms are sent only to this service. */
export interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly cookies?: readonly string[];
}

export function pageOf(content: Omit<DocumentContent, 'section' | 'hasAccounts'>, status = 200): Page {
  return {
    status,
    headers: personalPageHeaders(),
    body: htmlDocument({ ...content, section: 'Account', hasAccounts: true }),
  };
}

type BuiltAssets = NonNullable<DocumentContent['scripts']>;

/** A page with one form or message in a card, in a narrow column; `below` follows the card. */
export function formPage(
  title: string,
  children: ComponentChildren,
  status = 200,
  scripts?: BuiltAssets,
  below?: ComponentChildren,
): Page {
  const content = (
    <>
      <h1>{title}</h1>
      <div class="card">{children}</div>
      {below}
    </>
  );
  return pageOf({ title, width: 'narrow', children: content, ...(scripts && { scripts }) }, status);
}

/** The page of a refusal, which tells programs when to try again if the refusal says so. */
export function withRetryAfter(page: Page, error: DomainError): Page {
  if (error.retryAfterSeconds === undefined) return page;
  return { ...page, headers: { ...page.headers, 'retry-after': String(error.retryAfterSeconds) } };
}
