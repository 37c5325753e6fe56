import type { Notice } from './request-refused.ts';

/** A notice with its links. */
export function NoticeText({ notice: { sentence, link, also } }: { readonly notice: Notice }) {
  return (
    <p class="notice warn" role="status">
      {sentence} {link !== undefined && <a href={link.href}>{link.text}</a>}{' '}
      {also !== undefined && <a href={also.href}>{also.text}</a>}
    </p>
  );
}
