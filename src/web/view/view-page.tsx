import { MarketFigure } from '../../http/docs/market-figure.tsx';
import type { ShownMarket } from '../../http/docs/market-picture.ts';
import { assetPath } from '../../http/pages/assets.ts';
import { htmlDocument } from '../../http/pages/document.tsx';
import { PlotHelp } from './plot-help.tsx';
import { viewScripts, WORKER_SCRIPT } from './view-scripts.ts';

/**
 * How the script of a page gets data: `open`: without a key; `token`: with a token of the signed-in browser, or with a key that the person
 * types; `key`: with such a key only.
 */
export type ViewAccess = 'open' | 'token' | 'key';

export interface ViewPageContent {
  readonly page: 'recordings' | 'market';
  readonly access: ViewAccess;
  readonly hasAccounts: boolean;
  /** True: this process replays, and pages follow its clock. */
  readonly isReplay: boolean;
  /** The market that visitors see; undefined: none. */
  readonly picture: ShownMarket | undefined;
}

/** A page whose script shows recordings. It has no data itself, so it needs no key; the script reads the market from its path. */
export function viewPage({ page, access, hasAccounts, isReplay, picture }: ViewPageContent): string {
  return htmlDocument({
    title: page === 'market' ? 'Market' : 'Recordings',
    section: 'Recordings',
    hasAccounts,
    width: 'view',
    scripts: viewScripts(page),
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
          tabIndex={-1}
          data-access={access}
          data-accounts={hasAccounts ? 'true' : undefined}
          data-replay={isReplay ? 'true' : undefined}
          data-worker={assetPath(WORKER_SCRIPT)}
        />
        {picture !== undefined && <Preview picture={picture} hasAccounts={hasAccounts} />}
        <PlotHelp />
      </>
    ),
  });
}

/** The picture for visitors without a key. The style sheet shows it only next to the form for a key. */
function Preview({ picture, hasAccounts }: { readonly picture: ShownMarket; readonly hasAccounts: boolean }) {
  return (
    <aside class="preview" aria-label="A recorded market">
      <MarketFigure shown={picture} isLazy />
      <p>
        Each recorded market has such a picture on its page, to play and to zoom, with its trades and the ladder of
        every instant. {hasAccounts && <a href="/pricing">What each tier sees</a>}
      </p>
    </aside>
  );
}
