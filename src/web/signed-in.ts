import type { AccountService } from '../account/account-service.ts';
import type { SignedIn } from '../account/account-sessions.ts';
import { cookiesOf } from './cookies.ts';

/** The person whose browser sent a request; undefined: nobody is signed in in it. */
export function signedInBy(
  request: Request,
  { sessions, publicUrl }: Pick<AccountService, 'sessions' | 'publicUrl'>,
): SignedIn | undefined {
  return sessions.find(cookiesOf(request, publicUrl).session);
}
