import type { AccountService } from '../../account/account-service.ts';
import type { Answer, PageRequest } from '../page-request.ts';
import * as signIn from './sign-in-pages.tsx';
import { undo, undoPage } from './undo-page.tsx';

type AnyoneRoutes = Readonly<
  Record<string, (service: AccountService, request: PageRequest, contact?: string) => Answer | Promise<Answer>>
>;

export const SIGN_IN_PAGES: AnyoneRoutes = {
  '/sign-in': signIn.signInPage,
  '/sign-in/code': signIn.codePage,
  '/sign-in/link': signIn.linkPage,
  '/sign-in/undo': undoPage,
  '/sign-in/passkey': signIn.passkeyPage,
  '/sign-in/oidc/:provider': signIn.startAtProvider,
  '/sign-in/oidc/:provider/callback': signIn.finishAtProvider,
};

export const SIGN_IN_FORMS: AnyoneRoutes = {
  '/sign-in/email': signIn.sendMail,
  '/sign-in/code': signIn.enterCode,
  '/sign-in/link': signIn.enterByLink,
  '/sign-in/undo': undo,
  '/sign-in/passkey/options': signIn.passkeyOptions,
  '/sign-in/passkey': signIn.enterByPasskey,
  '/sign-in/passkey/code': signIn.enterByRecoveryCode,
};
