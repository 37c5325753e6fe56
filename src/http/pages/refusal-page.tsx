import type { Problem } from '../response/problem.ts';
import { htmlDocument } from './document.tsx';

/** A path of this service in a sentence. */
const PATH = /((?<= )\/[a-z][\w/-]*)/;

/** Why a request of a browser was not served. Paths that the sentence names are links. */
export function refusalPage({ title, status, detail, requestId }: Problem, hasAccounts: boolean): string {
  const children = (
    <div class="card empty">
      <div class="status">{status}</div>
      <h1>{title}</h1>
      <p>
        {`${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`
          .split(PATH)
          .map((part, nth) => (nth % 2 === 1 ? <a href={part}>{part}</a> : part))}
      </p>
      <p class="row">
        <a class="button primary" href="/">
          Go to the start page
        </a>
        <a class="button" href="/view">
          See the recordings
        </a>
      </p>
      <p class="quiet small">
        If you write to the operator, add this request id: <code>{requestId}</code>
      </p>
    </div>
  );
  return htmlDocument({ title, hasAccounts, width: 'prose', children });
}
