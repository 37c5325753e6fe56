const JSON_TYPE = 'application/json';
const MSGPACK_TYPE = 'application/msgpack';
const HTML_TYPE = 'text/html';

/**
 * What Accept, or a header of its kind, likes and how much: quality by name in lower case, in the order in which they are
 * named, 1 where it says none, 0 where it says nonsense (RFC 9110, 12.4.2). Of a name that comes twice the last quality counts.
 */
export function qualities(header: string): ReadonlyMap<string, number> {
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
 * Whether a page is wanted rather than JSON: HTML is named, and liked better than JSON; named both alike, it is JSON.
 */
export function prefersHtml(accept: string): boolean {
  return beatsJson(qualities(accept), HTML_TYPE, () => false);
}

/** Whether msgpack is wanted rather than JSON: it is named, and liked better than JSON, or as much and named first. */
export function prefersMsgpack(accept: string): boolean {
  // Most requests say nothing of it, and need not be taken apart.
  if (!/msgpack/i.test(accept)) return false;
  const quality = qualities(accept);
  const isFirst = () =>
    [...quality.keys()].find((name) => name === MSGPACK_TYPE || name === JSON_TYPE) === MSGPACK_TYPE;
  return beatsJson(quality, MSGPACK_TYPE, isFirst);
}

/** Whether `type` is named, and liked better than JSON; where both are named and liked alike, `isFirst` decides. */
function beatsJson(quality: ReadonlyMap<string, number>, type: string, isFirst: () => boolean): boolean {
  const own = quality.get(type) ?? 0;
  if (own === 0) return false;
  const json = quality.get(JSON_TYPE);
  // A wildcard stands for JSON that is not named: liked as much as what is named, it comes second.
  if (json === undefined) return own >= (quality.get('application/*') ?? quality.get('*/*') ?? 0);
  return own === json ? isFirst() : own > json;
}
