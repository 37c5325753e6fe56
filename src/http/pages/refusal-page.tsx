import type { Problem } from '../response/problem.ts';
import { htmlDocument } from './document.tsx';
import { Contents, manualPath, Search } from './manual-menu.tsx';

/** A path of this service in a sentence. */
const PATH = /((?<= )\/[a-z][\w/-]*)/;

/** Paths that look like pages of the manual. */
const MANUAL = /^\/docs\//;

/** Why a request of a browser was not served. Paths that the sentence names are links. A page that the manual lacks has its search and list. */
export function refusalPage(problem: Problem, path: string, hasAccounts: boolean): string {
  const { title, status, detail, requestId } = problem;
  const isOfManual = status === 404 && MANUAL.test(path);
  const [href, wayOn] = isOfManual ? [manualPath(), 'Go to the manual'] : ['/', 'Go to the start page'];
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
        <a class="button primary" href={href}>
          {wayOn}
        </a>
        <a class="button" href="/view">
          See the recordings
        </a>
      </p>
      <p class="quiet small">
        If you write to the operator, add this request id: <code class="nowrap">{requestId}</code>
      </p>
    </div>
  );
  if (!isOfManual) return htmlDocument({ title, hasAccounts, width: 'prose', children: reason });
  const children = (
    <div class="with-menu">
      <Search search="" />
      <Contents current="" />
      {reason}
    </div>
  );
  return htmlDocument({ title, section: 'Manual', hasAccounts, children });
}
