import { rejected } from '../../record/fields.ts';

/** Decodes UTF-8, without a byte order mark at the beginning. */
export const PLAIN_UTF8 = new TextDecoder('utf-8', { fatal: true });
/** Decodes UTF-8 and keeps a byte order mark as a character. */
export const EXACT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Throws DomainError 'rejected-record' with `reason` if the bytes are not UTF-8. */
export function decodedText(decoder: TextDecoder, bytes: Uint8Array, reason: string): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw rejected(reason);
  }
}
