import { DomainError } from '../domain/errors.ts';
import { type InstantMs, parseIso } from '../domain/instant.ts';
import { RefusedField } from '../domain/refused-field.ts';
import { bodyOf, mediaTypeOf } from '../http/request-body.ts';

const FORM_TYPE = 'application/x-www-form-urlencoded';
const FORM_BYTES_MAX = 8192;

/**
 * Throws 'forbidden' unless a page of this service sent the form. Browsers state the relation of the sites in Sec-Fetch-Site; older ones
 * send only the origin. The Host is not compared: proxies change it.
 */
export function refuseForeignForm({ headers }: Request, publicUrl: string): void {
  const site = headers.get('sec-fetch-site');
  const isOwn = site === null ? headers.get('origin') === publicUrl : site === 'same-origin';
  if (isOwn) return;
  throw new DomainError('forbidden', `another site sent this form: open ${publicUrl}/sign-in and try again there`);
}

/** The fields of a form. Throws 'malformed-request' for another type of body, and for more than 8 KiB. */
export async function formOf(request: Request): Promise<URLSearchParams> {
  if (mediaTypeOf(request) !== FORM_TYPE) {
    throw new DomainError('malformed-request', `the body is not a form: send ${FORM_TYPE}`);
  }
  const bytes = await bodyOf(request, FORM_BYTES_MAX);
  if (bytes !== undefined) return new URLSearchParams(bytes.toString());
  throw new DomainError('malformed-request', `the form is too large: send at most ${FORM_BYTES_MAX} bytes`);
}

/**
 * A field of a form with an instant of UTC, as ISO text, with a space or a T before the time; undefined if it is empty.
 * Throws 'invalid-parameter'.
 */
export function instantField(form: URLSearchParams, name: string): InstantMs | undefined {
  const text = (form.get(name) ?? '').trim().replace(' ', 'T');
  if (text === '') return undefined;
  const instantMs = parseIso(text) ?? parseIso(`${text}Z`);
  if (instantMs !== undefined) return instantMs;
  const message = 'this is not a time: write one like 2026-12-31 23:59, in UTC';
  throw new RefusedField(name, 'invalid-parameter', message);
}

/** A form that was refused: its page shows the reason and what was typed. */
export interface RefusedForm {
  readonly error: DomainError;
  readonly typed: URLSearchParams;
}

/** Runs `work` for a form. Undefined: it is done. Throws what the person cannot correct in the form. */
export function refusedForm(typed: URLSearchParams, work: () => void): RefusedForm | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof DomainError) || (error.kind !== 'invalid-parameter' && error.kind !== 'conflict'))
      throw error;
    return { error, typed };
  }
}

/** Runs `work` for a form, and `again` if it is refused because of one field. Without `again` it throws as `work` does. */
export async function corrected<Result>(
  typed: URLSearchParams,
  work: () => Result | Promise<Result>,
  again: ((refused: RefusedForm) => Result | Promise<Result>) | undefined,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (again === undefined || !(error instanceof RefusedField)) throw error;
    return await again({ error, typed });
  }
}

/** The message of an error as a sentence. */
export function errorSentence({ message }: Pick<DomainError, 'message'>): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
