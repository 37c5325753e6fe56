/**
 * What an Accept header likes and how much: quality by name in lower case, 1 where it says none, 0 where it says nonsense
 * (RFC 9110, 12.4.2). Of a name that comes twice the last one counts.
 */
function qualities(header: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const quality = parameters.find((parameter) => /^q=/i.test(parameter));
    const value = quality === undefined ? 1 : Number(quality.slice(2));
    found.set(name.toLowerCase(), value >= 0 && value <= 1 ? value : 0);
  }
  return found;
}

/**
 * Whether a page is wanted rather than JSON: HTML is named, and liked better than JSON. A wildcard stands for JSON where JSON
 * is not named, and at equal quality what is named comes before what a wildcard covers; named both alike, it is JSON.
 */
export function prefersHtml(accept: string): boolean {
  const quality = qualities(accept);
  const html = quality.get('text/html') ?? 0;
  const named = quality.get('application/json');
  if (html === 0) return false;
  if (named !== undefined) return html > named;
  return html >= (quality.get('application/*') ?? quality.get('*/*') ?? 0);
}
