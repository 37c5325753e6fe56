import { render } from 'preact';
import { Connection } from './connection.ts';
import { workerUrl } from './recording-source.ts';
import { showMarket } from './show-market.tsx';
import { showRecordings } from './show-recordings.tsx';
import { opensView, openView } from './shown-page.ts';

const REPLAY_ID = /^[\w-]{1,64}$/;
const root = document.querySelector<HTMLElement>('#view')!;
const connection = connectionOf(root);
// A policy of Trusted Types can be made once in a document.
const worker = workerUrl(root.dataset.worker!);
let path = '';
let leave = () => {};

/** Shows the page of the address. A page that is shown already reads the rest of the address itself. */
function show(): void {
  if (location.pathname === path) return;
  leave();
  render(null, root);
  const isFirst = path === '';
  path = location.pathname;
  leave = path === '/view' ? showRecordings(root, connection) : showMarket(root, connection, worker);
  if (isFirst) return;
  document.title = `${path === '/view' ? 'Recordings' : 'Market'} · bookreel`;
  scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

addEventListener('popstate', show);
addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || !opensView(event, link)) return;
  event.preventDefault();
  openView(link.href);
});
show();
void connection.connect();

/** The connection of a page, as its element `#view` describes it. `?replay=ID` in the page's URL chooses a replay. */
function connectionOf({ dataset }: HTMLElement): Connection {
  const replay = new URLSearchParams(location.search).get('replay') ?? '';
  const { access } = dataset;
  return new Connection({
    access: access === 'open' || access === 'token' ? access : 'key',
    hasAccounts: dataset.accounts === 'true',
    prefix: dataset.replay === 'true' && REPLAY_ID.test(replay) ? `/replays/${replay}` : '',
  });
}
