/** An email to one address in canonical spelling (domain/email-address.ts). */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A paragraph: a text, the URL of a link, or a code to type. */
type Part = string | { readonly link: string } | { readonly code: string };

/** An email as text and as HTML. It loads nothing: no images, fonts or counters. */
export function mailOf(to: string, subject: string, parts: readonly Part[]): Mail {
  return {
    to,
    subject,
    text: `${parts.map(textOf).join('\n\n')}\n`,
    html: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${Bun.escapeHTML(subject)}</title></head>
<body style="font-family:sans-serif">
${parts.map(htmlOf).join('\n')}
</body></html>
`,
  };
}

function textOf(part: Part): string {
  if (typeof part === 'string') return part;
  return 'link' in part ? part.link : spaced(part.code);
}

function htmlOf(part: Part): string {
  const text = Bun.escapeHTML(textOf(part));
  if (typeof part === 'string') return `<p>${text}</p>`;
  if ('link' in part) return `<p><a href="${text}">${text}</a></p>`;
  return `<p style="font-size:1.6em;letter-spacing:.1em"><strong>${text}</strong></p>`;
}

/** `1234 5678`. */
function spaced(code: string): string {
  return `${code.slice(0, 4)} ${code.slice(4)}`;
}
