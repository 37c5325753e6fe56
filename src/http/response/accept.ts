const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
const HTML_TYPE = 'text/html';

export type Encoding = 'zstd' | 'gzip' | 'identity';

/**
 * The qualities of Accept, or a header of its kind, by name in lower case, in the order of the header: 1 where there is none, 0
 * where it is malformed (RFC 9110, 12.4.2). Of a name that comes twice the last quality counts.
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

/** Whether HTML is named, and preferred to JSON; of equal quality, it is JSON. */
export function prefersHtml(accept: string): boolean {
  return isPreferred(accept, HTML_TYPE, false);
}

/** Whether msgpack is named, and preferred to JSON, or of equal quality and named first. */
export function prefersMsgpack(accept: string): boolean {
  // Most requests do not name it, and need no parsing.
  return /msgpack/i.test(accept) && isPreferred(accept, MSGPACK_TYPE, true);
}

/** The encoding that an Accept-Encoding header prefers; of equally preferred ones the smallest. */
export function encodingOf(accept: string): Encoding {
  if (accept === '') return 'identity';
  const quality = qualities(accept);
  const [zstd = 0, gzip = 0, identity = 0] = ['zstd', 'gzip', 'identity'].map((name) => quality.get(name));
  const best = Math.max(zstd, gzip, identity);
  if (best === 0) return 'identity';
  if (zstd === best) return 'zstd';
  return gzip === best ? 'gzip' : 'identity';
}

/** `orFirst`: of equal quality to JSON, the one that is named first counts, else JSON. */
function isPreferred(accept: string, type: string, orFirst: boolean): boolean {
  const quality = qualities(accept);
  const own = quality.get(type) ?? 0;
  if (own === 0) return false;
  const json = quality.get(JSON_TYPE);
  // A wildcard means JSON where that is not named: of equal quality, it comes second.
  if (json === undefined) return own >= (quality.get('application/*') ?? quality.get('*/*') ?? 0);
  if (own !== json) return own > json;
  return orFirst && [...quality.keys()].find((name) => name === type || name === JSON_TYPE) === type;
}
