import { existsSync } from 'node:fs';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { startChild } from '../support/child.ts';

/** WebKit, the engine of Safari: GTK's browser, driven over WebDriver, on a screen in memory. */
const BROWSER = `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/webkit2gtk-4.1/MiniBrowser`;
export const HAS_WEBKIT = ['WebKitWebDriver', 'Xvfb'].every((name) => Bun.which(name) !== null) && existsSync(BROWSER);

const POLL_MS = 50;

export interface WebKitPage extends AsyncDisposable {
  open(url: string): Promise<void>;
  /** Runs the body of a function in the page, and returns its result. */
  run<T>(body: string): Promise<T>;
  /** Waits until an expression is true in the page. */
  until(expression: string): Promise<void>;
}

/** Opens a window with a profile of its own (https://www.w3.org/TR/webdriver2/). */
export async function openWebKit(): Promise<WebKitPage> {
  const closing = new AsyncDisposableStack();
  const home = closing.use(temporaryDirectory());
  const screen = closing.use(
    startChild(['Xvfb', '-displayfd', '1', '-screen', '0', '1400x1000x24', '-nolisten', 'tcp']),
  );
  const [, display] = await screen.said(/^(\d+)\n/);
  const port = await freePort();
  const env = { DISPLAY: `:${display}`, HOME: home.path, LANG: 'en_US.UTF-8', LIBGL_ALWAYS_SOFTWARE: '1' };
  closing.use(startChild(['WebKitWebDriver', `--port=${port}`], { env }));
  const send = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${port}/session${path}`, {
      method,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const { value } = (await answer.json()) as { value: T };
    if (!answer.ok) throw new Error(JSON.stringify(value));
    return value;
  };
  const options = { binary: BROWSER, args: ['--automation'] };
  const capabilities = { alwaysMatch: { 'webkitgtk:browserOptions': options } };
  while (
    !(await fetch(`http://127.0.0.1:${port}/status`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await Bun.sleep(POLL_MS);
  const { sessionId } = await send<{ sessionId: string }>('POST', '', { capabilities });
  closing.defer(async () => void (await send('DELETE', `/${sessionId}`)));
  await send('POST', `/${sessionId}/window/rect`, { x: 0, y: 0, width: 1300, height: 900 });
  const run = <T>(script: string) => send<T>('POST', `/${sessionId}/execute/sync`, { script, args: [] });
  return {
    open: async (url) => void (await send('POST', `/${sessionId}/url`, { url })),
    run,
    until: async (expression) => {
      while (!(await run<boolean>(`return Boolean(${expression});`))) await Bun.sleep(POLL_MS);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
