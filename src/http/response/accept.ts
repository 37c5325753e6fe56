const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
const HTML_TYPE = 'text/html';

export type Encoding = 'zstd' | 'gzip' | 'identity';

/**
 * The qualities of an Accept or Accept-Encoding header by name in lower case, in the order of the header. The quality is 1 if left
 * out, 0 if malformed (RFC 9110, 12.4.2). The last quality of a repeated name counts.
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

/** Returns true if the header names HTML with a higher quality than JSON. */
export function prefersHtml(accept: string): boolean {
  return isPreferred(accept, HTML_TYPE, false);
}

/** Returns true if the header names msgpack with a higher quality than JSON, or with the same quality and first. */
export function prefersMsgpack(accept: string): boolean {
  // Most headers do not name msgpack, and are not parsed.
  return /msgpack/i.test(accept) && isPreferred(accept, MSGPACK_TYPE, true);
}

/** The encoding with the highest quality; at equal quality the smallest one. */
export function encodingOf(accept: string): Encoding {
  if (accept === '') return 'identity';
  const quality = qualities(accept);
  const [zstd = 0, gzip = 0, identity = 0] = ['zstd', 'gzip', 'identity'].map((name) => quality.get(name));
  const best = Math.max(zstd, gzip, identity);
  if (best === 0) return 'identity';
  if (zstd === best) return 'zstd';
  return gzip === best ? 'gzip' : 'identity';
}

/** `orFirst`: at equal quality the type that is named first wins, else JSON wins. */
function isPreferred(accept: string, type: string, orFirst: boolean): boolean {
  const quality = qualities(accept);
  const own = quality.get(type) ?? 0;
  if (own === 0) return false;
  const json = quality.get(JSON_TYPE);
  // Without a quality of its own JSON has that of the wildcard, and loses at equal quality.
  if (json === undefined) return own >= (quality.get('application/*') ?? quality.get('*/*') ?? 0);
  if (own !== json) return own > json;
  return orFirst && [...quality.keys()].find((name) => name === type || name === JSON_TYPE) === type;
}
