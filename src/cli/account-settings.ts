import type { AccountSettings, ProviderSettings } from '../account/account-service.ts';
import type { SignUpPolicy } from '../account/sign-up.ts';
import { DomainError } from '../domain/errors.ts';

/** The settings of accounts and sign-in as options of a command. */
export interface AccountOptions {
  readonly publicUrl?: string;
  readonly signUp: SignUpPolicy;
  readonly signUpDomains: ReadonlySet<string>;
  readonly smtpUrl?: URL;
  readonly smtpSender?: string;
  readonly smtpPasswordFile?: string;
  readonly oidcProviders: readonly ProviderSettings[];
}

/**
 * Undefined if accounts are off. `local`: turns accounts on without --public-url, and has the URL then. Throws 'invalid-parameter' for
 * settings that do not fit together.
 */
export function accountSettings(
  options: AccountOptions,
  local?: Pick<AccountSettings, 'publicUrl' | 'linkCommand'>,
): AccountSettings | undefined {
  const { signUp, signUpDomains, smtpUrl, smtpSender, smtpPasswordFile, oidcProviders } = options;
  const { publicUrl: given } = options;
  const publicUrl = given === undefined ? local?.publicUrl : () => given;
  const linkCommand = local?.linkCommand ?? ((url) => `bookreel account link you@example.com --public-url ${url}`);
  // Others may read the arguments and the environment of a process.
  refuse(
    smtpUrl !== undefined && smtpUrl.password !== '',
    '--smtp-url has a password: write that into a file, and name the file with --smtp-password-file',
  );
  refuse(
    publicUrl === undefined && smtpUrl !== undefined,
    '--smtp-url needs --public-url: links in mails begin with it',
  );
  refuse(
    publicUrl === undefined && oidcProviders.length > 0,
    '--oidc-providers needs --public-url: providers send browsers back to it',
  );
  refuse(publicUrl === undefined && signUp !== 'closed', '--sign-up needs --public-url, which turns accounts on');
  refuse(
    signUp === 'invited' && signUpDomains.size === 0,
    '--sign-up invited needs --sign-up-domains; without domains, use --sign-up closed',
  );
  refuse(signUp !== 'invited' && signUpDomains.size > 0, '--sign-up-domains needs --sign-up invited');
  refuse(
    (smtpUrl === undefined) !== (smtpSender === undefined),
    '--smtp-url and --smtp-sender need each other: give both',
  );
  refuse(
    (smtpPasswordFile === undefined) !== (smtpUrl === undefined || smtpUrl.username === ''),
    '--smtp-password-file and the user in --smtp-url need each other: give both',
  );
  const names = oidcProviders.map(({ name }) => name);
  refuse(new Set(names).size < names.length, 'two of --oidc-providers have the same name: choose another');
  if (publicUrl === undefined) return undefined;
  const mail =
    smtpUrl === undefined || smtpSender === undefined
      ? undefined
      : { url: smtpUrl, sender: smtpSender, passwordFile: smtpPasswordFile };
  return { publicUrl, linkCommand, signUp: { policy: signUp, domains: signUpDomains }, mail, providers: oidcProviders };
}

function refuse(isWrong: boolean, sentence: string): void {
  if (isWrong) throw new DomainError('invalid-parameter', sentence);
}
