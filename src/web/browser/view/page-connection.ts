import { Connection } from './connection.ts';

const REPLAY_ID = /^[\w-]{1,64}$/;

/** The connection of a page, as its element `#view` describes it. `?replay=ID` in the page's URL chooses a replay. */
export function connectionOf({ dataset }: HTMLElement): Connection {
  const replay = new URLSearchParams(location.search).get('replay') ?? '';
  const { access } = dataset;
  return new Connection({
    access: access === 'open' || access === 'token' ? access : 'key',
    hasAccounts: dataset.accounts === 'true',
    prefix: dataset.replay === 'true' && REPLAY_ID.test(replay) ? `/replays/${replay}` : '',
  });
}
