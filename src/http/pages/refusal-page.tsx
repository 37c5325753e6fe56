import { manualInserts } from '../../import/manual-inserts.ts';
import { manualPages } from '../../manual/manual.ts';
import { mayFind } from '../../manual/manual-search.ts';
import type { Problem } from '../response/problem.ts';
import { htmlDocument } from './document.tsx';
import { Contents, manualPath, Search } from './manual-menu.tsx';

/** A path of this service in a sentence. */
const PATH = /((?<= )\/[a-z][\w/-]*)/;

/** Paths that look like pages of the manual. */
const MANUAL = /^\/docs\//;

/**
 * Why a request of a browser was not served. Paths that the sentence names are links. A page that the manual lacks has its search and list, and
 * leads to the search for its name if pages have its words. `email`: the person who is signed in.
 */
export function refusalPage(problem: Problem, path: string, hasAccounts: boolean, email?: string): string {
  const { title, status, detail, requestId } = problem;
  const isOfManual = status === 404 && MANUAL.test(path);
  const [href, wayOn] = isOfManual ? [manualPath(), 'Go to the manual'] : ['/', 'Go to the start page'];
  const name = isOfManual ? nameIn(path) : '';
  const isFound = name !== '' && mayFind(manualPages(manualInserts()), name);
  // The button leads there.
  const said = isOfManual ? detail.replace(`: ${href} lists its pages`, '') : detail;
  const reason = (
    <div class="card empty">
      <div class="status">{status}</div>
      <h1>{title}</h1>
      <p>
        {`${said.charAt(0).toUpperCase()}${said.slice(1)}.`
          .split(PATH)
          .map((part, nth) => (nth % 2 === 1 ? <a href={part}>{part}</a> : part))}
      </p>
      <p class="row">
        {isFound && (
          <a class="button primary" href={`${href}?search=${encodeURIComponent(name)}`}>
            Search the manual for it
          </a>
        )}
        <a class={isFound ? 'button' : 'button primary'} href={href}>
          {wayOn}
        </a>
        {!isFound && (
          <a class="button" href="/view">
            See the recordings
          </a>
        )}
      </p>
      <p class="quiet small">
        If you write to the operator, add this request id: <code class="nowrap">{requestId}</code>
      </p>
    </div>
  );
  if (!isOfManual) return htmlDocument({ title, hasAccounts, email, width: 'prose', children: reason });
  const children = (
    <div class="with-menu">
      <Search search="" />
      <Contents current="" />
      {reason}
    </div>
  );
  return htmlDocument({ title, section: 'Manual', hasAccounts, email, children });
}

/** The words of the name of a page: `import files` for `/docs/import-files`; empty for other characters. */
function nameIn(path: string): string {
  return (/^\/docs\/(?:manual\/)?([\w-]{1,60})$/.exec(path)?.[1] ?? '').replaceAll(/[-_]/g, ' ');
}
