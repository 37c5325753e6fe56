import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The part of playwright-core's interface that tests here use: it is installed for judges only. */
interface Playwright {
  readonly chromium: {
    launch(options: { readonly executablePath: string; readonly args: readonly string[] }): Promise<Browser>;
  };
}

interface Browser {
  newContext(): Promise<Context>;
  close(): Promise<void>;
}

/** A profile without any data, which ends when it is closed. */
interface Context {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

interface Locator {
  first(): Locator;
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  waitFor(): Promise<void>;
  allInnerTexts(): Promise<string[]>;
}

/** A part of a page, in CSS pixels. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type ColorScheme = 'light' | 'dark';

/** A page, by what people see of it. */
export interface Page {
  goto(url: string, options?: { readonly waitUntil: 'load' | 'networkidle' }): Promise<BrowserResponse | null>;
  emulateMedia(options: {
    readonly colorScheme: ColorScheme;
    readonly reducedMotion?: 'reduce';
    readonly media?: 'screen' | 'print';
  }): Promise<void>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  setDefaultTimeout(ms: number): void;
  screenshot(options: { readonly path: string; readonly fullPage?: boolean; readonly clip?: Box }): Promise<unknown>;
  url(): string;
  addInitScript(script: { readonly content: string }): Promise<void>;
  /** Gives pages a function that runs here. */
  exposeFunction(name: string, run: (argument: string) => Promise<unknown>): Promise<unknown>;
  /** Runs `expression` in the page, past its policy. */
  evaluate<T>(expression: string): Promise<T>;
  press(selector: string, key: string): Promise<void>;
  readonly mouse: {
    move(x: number, y: number): Promise<void>;
    down(): Promise<void>;
    up(): Promise<void>;
    wheel(byX: number, byY: number): Promise<void>;
  };
  /** Chromium's own protocol, for fingers and traces. */
  context(): {
    newCDPSession(page: Page): Promise<{
      send(method: string, parameters?: object): Promise<unknown>;
      on(event: string, listener: (parameters: { readonly value: readonly TraceEvent[] }) => void): unknown;
    }>;
  };
  readonly keyboard: { press(key: string): Promise<void> };
  locator(selector: string): Locator;
  getByPlaceholder(text: string): Locator;
  getByRole(role: string, options: { readonly name: RegExp }): Locator;
  getByText(text: string | RegExp): Locator;
  waitForResponse(accepts: (response: BrowserResponse) => boolean): Promise<BrowserResponse>;
  on(event: 'request', listener: (request: { url(): string }) => void): unknown;
  on(
    event: 'requestfailed',
    listener: (request: { url(): string; failure(): { errorText: string } | null }) => void,
  ): unknown;
  on(event: 'websocket', listener: (socket: { url(): string }) => void): unknown;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): unknown;
  on(event: 'pageerror', listener: (error: Error) => void): unknown;
}

interface TraceEvent {
  readonly name: string;
  readonly args: { readonly elementCount?: number };
}

interface BrowserResponse {
  url(): string;
  status(): number;
  text(): Promise<string>;
}

const LIBRARY = join(import.meta.dir, '..', 'judges', 'node_modules', 'playwright-core', 'index.mjs');
const EXECUTABLE = ['chromium', 'chromium-browser', 'google-chrome'].map((name) => Bun.which(name)).find(Boolean);

/** Whether there is a browser to be had; tests that want one are skipped by name where there is none. */
export const HAS_CHROMIUM = existsSync(LIBRARY) && typeof EXECUTABLE === 'string';

const POLL_MS = 5;
/** For a machine that has other things to do; what takes longer is given up by the test-runner. */
const PATIENCE_MS = 100_000;

/** A page in a browser that knows no host but this machine, and everything it did that it should not. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Every address anything was asked of, in order. */
  readonly asked: readonly string[];
  /** Those of them that the page's policy kept from being asked. */
  readonly prevented: readonly string[];
  /** What the console and the page called an error or a warning. */
  readonly complaints: readonly string[];
  /** What the page's policy refused since it was last asked, once there are `atLeast` so many: directive and what it was about. */
  refused(atLeast?: number): Promise<readonly string[]>;
}

/** One browser for all pages of this process: its start takes as long as a page. It ends with a process of tests. */
const shared: { browser: Promise<Browser> | undefined } = { browser: undefined };

async function launch(): Promise<Browser> {
  const { chromium } = (await import(LIBRARY)) as Playwright;
  return await chromium.launch({
    executablePath: EXECUTABLE!,
    // As root it has no sandbox; names are not looked up, so nothing could leave this machine.
    args: ['--no-sandbox', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'],
  });
}

/** For scripts, which end when nothing is open any more. */
export async function closeBrowser(): Promise<void> {
  const { browser } = shared;
  shared.browser = undefined;
  await (await browser)?.close();
}

/** Opens a blank page with a profile of its own. */
export async function openPage(): Promise<WatchedPage> {
  shared.browser ??= launch();
  const context = await (await shared.browser).newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const asked: string[] = [];
  const prevented: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('requestfailed', (request) => {
    if (request.failure()?.errorText === 'csp') prevented.push(request.url());
  });
  page.on('websocket', (socket) => asked.push(socket.url()));
  page.on('console', (message) => {
    if (/error|warning|assert/.test(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.addInitScript({
    content: `globalThis.refusedByPolicy = [];
      document.addEventListener('securitypolicyviolation', (event) =>
        refusedByPolicy.push(event.effectiveDirective + ' ' + event.blockedURI));`,
  });
  return {
    page,
    asked,
    prevented,
    complaints,
    refused: async (atLeast = 0) =>
      await page.evaluate<string[]>(`new Promise((resolve) => {
        const look = () =>
          refusedByPolicy.length < ${atLeast} ? setTimeout(look, ${POLL_MS}) : resolve(refusedByPolicy.splice(0));
        look();
      })`),
    [Symbol.asyncDispose]: async () => await context.close(),
  };
}
