import { DomainError } from '../domain/errors.ts';

/** The bytes of a request's body; undefined if it has more than `bytesMax`. Throws 'malformed-request' if the client leaves. */
export async function bodyOf(request: Request, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.body ?? []) {
      length += chunk.length;
      if (length > bytesMax) return undefined;
      chunks.push(chunk);
    }
  } catch (error) {
    throw new DomainError('malformed-request', 'the body ended early: send the request again', { cause: error });
  }
  return Buffer.concat(chunks);
}

/** The media type of a request's body in lower case, without parameters; empty without one. */
export function mediaTypeOf({ headers }: Request): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
}
