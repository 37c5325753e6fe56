import { DomainError } from '../domain/errors.ts';
import type { Codec } from './codec.ts';
import type { OpenedSource } from './opened-source.ts';
import type { Source } from './source.ts';

/** The first codec that recognises the file; undefined if none does. */
export function recognisedCodec(codecs: readonly Codec[], { sample }: OpenedSource): Codec | undefined {
  return codecs.find((codec) => codec.recognises(sample));
}

export function unrecognised({ name }: Source, codecs: readonly Codec[]): DomainError {
  const formats = codecs.map(({ format }) => format).join(', ');
  return new DomainError('unreadable', `'${name}' is not a recording in a known format (${formats})`);
}
