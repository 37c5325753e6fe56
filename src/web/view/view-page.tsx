import { assetPath } from '../../http/pages/assets.ts';
import type { BuiltAsset } from '../../http/pages/built-asset.ts';
import { htmlDocument } from '../../http/pages/document.tsx';
import { WORKER_SCRIPT } from './view-scripts.ts';

/**
 * How the script of a page gets data: `open`: without a key; `token`: with a token of the signed-in browser, or with a key that the person
 * types; `key`: with such a key only.
 */
export type ViewAccess = 'open' | 'token' | 'key';

export interface ViewPageContent {
  readonly title: string;
  readonly script: BuiltAsset;
  readonly access: ViewAccess;
  readonly hasAccounts: boolean;
  /** Whether this process replays: pages follow its clock. */
  readonly isReplay: boolean;
}

/** A page whose script shows recordings. It has no data itself, so it needs no key; the script reads the market from its path. */
export function viewPage({ title, script, access, hasAccounts, isReplay }: ViewPageContent): string {
  return htmlDocument({
    title,
    section: 'Recordings',
    hasAccounts,
    width: 'view',
    scripts: [script],
    children: (
      <>
        <noscript>
          <p class="notice">
            This page draws recordings with JavaScript, which this browser does not run. <code>bookreel show</code> and{' '}
            <code>bookreel plot</code> show them without a browser, and <a href="/docs">the API</a> has the data.
          </p>
        </noscript>
        <div
          id="view"
          data-access={access}
          data-accounts={hasAccounts ? 'true' : undefined}
          data-replay={isReplay ? 'true' : undefined}
          data-worker={assetPath(WORKER_SCRIPT)}
        />
      </>
    ),
  });
}
