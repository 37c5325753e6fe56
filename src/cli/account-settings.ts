import type { AccountSettings, ProviderSettings } from '../account/account-service.ts';
import type { SignUpPolicy } from '../account/sign-up.ts';
import { DomainError } from '../domain/errors.ts';
import { isAddress } from '../domain/loopback.ts';

/** The settings of accounts and sign-in as options of a command. */
export interface AccountOptions {
  readonly publicUrl?: string | undefined;
  readonly signUp: SignUpPolicy;
  readonly signUpDomains: ReadonlySet<string>;
  readonly smtpUrl?: URL | undefined;
  readonly smtpSender?: string | undefined;
  readonly smtpPasswordFile?: string | undefined;
  readonly oidcProviders: readonly ProviderSettings[];
  readonly adminPasskeys: NonNullable<AccountSettings['adminPasskeys']>;
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
  const { publicUrl: given, adminPasskeys } = options;
  const publicUrl = given === undefined ? local?.publicUrl : () => given;
  const linkCommand = local?.linkCommand ?? ((url) => `bookreel account link you@example.com --public-url ${url}`);
  const [problem] = accountProblems(options, publicUrl !== undefined);
  if (problem !== undefined) throw new DomainError('invalid-parameter', problem);
  if (publicUrl === undefined) return undefined;
  const mail =
    smtpUrl === undefined || smtpSender === undefined
      ? undefined
      : { url: smtpUrl, sender: smtpSender, passwordFile: smtpPasswordFile };
  const policy = { policy: signUp, domains: signUpDomains };
  return { publicUrl, linkCommand, signUp: policy, mail, providers: oidcProviders, adminPasskeys };
}

/** A sentence for each pair of settings that do not fit together. */
export function accountProblems(options: AccountOptions, areAccountsOn: boolean): string[] {
  const { signUp, signUpDomains, smtpUrl, smtpSender, smtpPasswordFile, oidcProviders, publicUrl } = options;
  const isRequired = options.adminPasskeys === 'required';
  const names = oidcProviders.map(({ name }) => name);
  const rules: readonly (readonly [isBroken: boolean, sentence: string])[] = [
    [
      // Others may read the arguments and the environment of a process.
      smtpUrl !== undefined && smtpUrl.password !== '',
      '--smtp-url has a password: write that into a file, and name the file with --smtp-password-file',
    ],
    [!areAccountsOn && smtpUrl !== undefined, '--smtp-url needs --public-url: links in emails begin with it'],
    [
      !areAccountsOn && oidcProviders.length > 0,
      '--oidc-providers needs --public-url: providers send browsers back to it',
    ],
    [!areAccountsOn && isRequired, '--admin-passkeys needs --public-url, which turns accounts on'],
    [
      isRequired && publicUrl !== undefined && isAddress(new URL(publicUrl).hostname),
      '--admin-passkeys needs a host name in --public-url: browsers have no passkeys for an address',
    ],
    [!areAccountsOn && signUp !== 'closed', '--sign-up needs --public-url, which turns accounts on'],
    [
      signUp === 'invited' && signUpDomains.size === 0,
      '--sign-up invited needs --sign-up-domains; without domains, use --sign-up closed',
    ],
    [signUp !== 'invited' && signUpDomains.size > 0, '--sign-up-domains needs --sign-up invited'],
    [(smtpUrl === undefined) !== (smtpSender === undefined), '--smtp-url and --smtp-sender need each other: give both'],
    [
      (smtpPasswordFile === undefined) !== (smtpUrl === undefined || smtpUrl.username === ''),
      '--smtp-password-file and the user in --smtp-url need each other: give both',
    ],
    [new Set(names).size < names.length, 'two of --oidc-providers have the same name: choose another'],
  ];
  return rules.flatMap(([isBroken, sentence]) => (isBroken ? [sentence] : []));
}
