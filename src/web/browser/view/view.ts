import { render } from 'preact';
import { Connection } from './connection.ts';
import { workerUrl } from './recording-source.ts';
import { opensView, openView } from './shown-page.ts';

const LIST = '/view';
const REPLAY_ID = /^[\w-]{1,64}$/;
const root = document.querySelector<HTMLElement>('#view')!;
const connection = connectionOf(root);
// A policy of Trusted Types can be made once in a document.
const worker = workerUrl(root.dataset.worker!);
let path = '';
let leave = () => {};

/** Shows the page of the address. A page that is shown already reads the rest of the address itself. */
async function show(): Promise<void> {
  if (location.pathname === path) return;
  leave();
  leave = () => {};
  render(null, root);
  const isFirst = path === '';
  const { pathname } = location;
  path = pathname;
  const open = await pageAt(path).catch((error: unknown) => {
    // Another version of the service has other files.
    if (!isFirst) location.reload();
    throw error;
  });
  if (path !== pathname) return;
  if (!isFirst) document.title = `${path === LIST ? 'Recordings' : 'Market'} · bookreel`;
  leave = open();
  if (isFirst) return;
  scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

addEventListener('popstate', () => void show());
addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || !opensView(event, link)) return;
  event.preventDefault();
  openView(link.href);
});
void show();
void connection.connect();

/** Loads the script of a page. The result shows it, and returns a function that ends it. */
async function pageAt(pathname: string): Promise<() => () => void> {
  if (pathname === LIST) {
    const { showRecordings } = await import('./show-recordings.tsx');
    return () => showRecordings(root, connection);
  }
  const { showMarket } = await import('./show-market.tsx');
  return () => showMarket(root, connection, worker);
}

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
