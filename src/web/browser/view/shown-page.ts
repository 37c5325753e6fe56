/** A page of the viewer: the list, or a market. `/view/sign-in` is another page. */
const VIEW_PATH = /^\/view(?:\/[^/]+\/[^/]+)?$/;

/** Shows a page of the viewer in this document, so that a key that was typed is kept. */
export function openView(href: string): void {
  history.pushState(null, '', href);
  // Browsers send it only when the person goes back or forward.
  dispatchEvent(new PopStateEvent('popstate'));
}

/** Says whether a click opens another page of the viewer in this document. */
export function opensView(event: MouseEvent, { origin, pathname, search, target }: HTMLAnchorElement): boolean {
  if (event.defaultPrevented || event.button !== 0) return false;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || target !== '') return false;
  const replayIn = (query: string) => new URLSearchParams(query).get('replay');
  // The connection of this document is to one replay.
  return origin === location.origin && VIEW_PATH.test(pathname) && replayIn(search) === replayIn(location.search);
}
