import { builtAsset } from '../http/pages/built-asset.ts' with { type: 'macro' };
import type { BuiltAsset } from '../http/pages/built-asset.ts';

export const USAGE_SCRIPT: BuiltAsset = builtAsset('web/browser/usage.tsx');

/** Pays with a wallet. */
export const WALLET_SCRIPT: BuiltAsset = builtAsset('web/browser/wallet.ts');

/** Adds passkeys, and signs in with them. */
export const PASSKEY_SCRIPT: BuiltAsset = builtAsset('web/browser/passkey.ts');

/** All that only these pages load: the site serves each. */
export const SCRIPTS: readonly BuiltAsset[] = [USAGE_SCRIPT, WALLET_SCRIPT, PASSKEY_SCRIPT];
