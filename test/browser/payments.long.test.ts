import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Anvil, CUSTOMER, HAS_ANVIL, startAnvil } from '../billing/anvil.ts';
import { writePaymentSettings } from '../billing/paid-service.ts';
import { freePort } from '../judges/free-port.ts';
import { temporaryDirectory } from '../support/archive.ts';
import { outputOf } from '../support/command.ts';
import { type RunningServer, startServer } from '../support/executable.ts';
import { HAS_CHROMIUM, openPage, type WatchedPage } from './chromium.ts';
import { cutOff, overflowing, unfold } from './page-checks.ts';
import { SIZES, setAppearance } from './shown-pages.ts';

const ADA = 'ada@example.com';
const SIGNER = `window.ethereum = {
  request: async (call) => {
    const { error, result } = await walletRequest(JSON.stringify(call));
    if (error) throw Object.assign(new Error(error), { code: error === 'Unknown' ? 4902 : 4001 });
    return result;
  },
};`;

/** Two wallets that announce themselves; the calls of the first one are refused. */
const ANNOUNCED = `addEventListener('eip6963:requestProvider', () => {
  const refusing = { request: async () => { throw new Error('the other wallet'); } };
  for (const [name, provider] of [['First', refusing], ['Second', window.ethereum], ['Second', window.ethereum]]) {
    const detail = Object.freeze({ info: { uuid: name, name: name + ' <b>', icon: '', rdns: 'x.y' }, provider });
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
  }
});`;

interface WalletCall {
  readonly method: string;
  readonly params?: readonly string[];
}

describe.skipIf(!(HAS_CHROMIUM && HAS_ANVIL))('payments in a browser (need Chromium, test/judges, anvil)', () => {
  const directory = temporaryDirectory();
  const data = join(directory.path, 'data');
  let anvil: Anvil;
  let server: RunningServer;
  beforeAll(async () => {
    anvil = await startAnvil();
    await outputOf(['tier', 'set', 'pro', '--price', '49.50', '--data', data]);
    await outputOf(['account', 'create', ADA, '--admin', '--data', data]);
    const port = String(await freePort());
    const network = { publicRpcUrl: 'https://rpc.example.com/', currency: 'POL' };
    const payments = ['--payments', writePaymentSettings(directory.path, anvil, network)];
    server = await startServer(data, ['--port', port, '--public-url', `http://127.0.0.1:${port}`, ...payments]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await anvil[Symbol.asyncDispose]();
    directory[Symbol.dispose]();
  });

  /** Signed in as an admin. `wallet`: answers the calls of scripts; undefined: the browser has none. */
  async function signedIn(wallet?: (call: WalletCall) => Promise<unknown>): Promise<WatchedPage> {
    const watched = await openPage();
    const { page } = watched;
    if (wallet !== undefined) {
      await page.exposeFunction('walletRequest', async (call) => {
        try {
          return { result: await wallet(JSON.parse(call) as WalletCall) };
        } catch (error) {
          return { error: (error as Error).message };
        }
      });
      await page.addInitScript({ content: SIGNER });
    }
    const link = await outputOf(['account', 'link', ADA, '--public-url', server.origin, '--data', data]);
    await page.goto(link.trim());
    await page.getByRole('button', { name: /Sign in as/ }).click();
    await page
      .getByText(/Signed in as/)
      .first()
      .waitFor();
    return watched;
  }

  /** A wallet with the money of the customer. `calls` gets the methods. */
  const walletOf =
    (calls: string[]) =>
    async ({ method, params }: WalletCall): Promise<unknown> => {
      calls.push(method);
      if (method === 'eth_requestAccounts') return [CUSTOMER.address];
      if (method === 'wallet_switchEthereumChain') return null;
      return await CUSTOMER.signTypedData(JSON.parse(params![1]!));
    };

  /** Until its script has run: what it shows is not in the page that the server sends. */
  async function openOffer({ page }: WatchedPage): Promise<void> {
    await page.goto(`${server.origin}/account/plan`);
    await page.getByRole('button', { name: /^Extend$|Buy 30 days/ }).click();
    await page.getByText('Pay from a program').waitFor();
    await page.evaluate('document.readyState === "complete" || new Promise((run) => addEventListener("load", run))');
  }

  const expectClean = async (watched: WatchedPage) => {
    expect([watched.complaints, await watched.refused()]).toEqual([[], []]);
    expect(watched.asked.filter((asked) => !asked.startsWith(server.origin))).toEqual([]);
  };

  test('without a wallet the offer says so, and shows how other clients pay', async () => {
    await using watched = await signedIn();
    await openOffer(watched);
    await watched.page.getByText('No wallet of this browser has answered this page').waitFor();
    expect(await watched.page.evaluate<boolean>('document.querySelector("form[data-payment] button").hidden')).toBe(
      true,
    );
    await unfold(watched.page);
    await setAppearance(watched.page, SIZES.phone!, 'light');
    expect([await cutOff(watched.page), await overflowing(watched.page)]).toEqual([[], []]);
    await expectClean(watched);
  });

  test('a wallet that refuses pays nothing, and the person can try again', async () => {
    const before = (await anvil.transfers()).length;
    await using watched = await signedIn(async ({ method }) => {
      if (method === 'eth_requestAccounts') return [CUSTOMER.address];
      throw new Error('User rejected the request.');
    });
    await openOffer(watched);
    await watched.page.getByRole('button', { name: /^Pay .* with a wallet$/ }).click();
    await watched.page.getByText(/Nothing was paid. Your wallet says: User rejected the request/).waitFor();
    expect(await watched.page.evaluate<boolean>('document.querySelector("form[data-payment] button").disabled')).toBe(
      false,
    );
    expect((await anvil.transfers()).length).toBe(before);
    await expectClean(watched);
  });

  test.each([0, 3_600_000, -3_600_000])('A wallet signs with the server’s time. (clock off %d ms)', async (skewMs) => {
    const before = (await anvil.transfers()).length;
    const calls: string[] = [];
    await using watched = await signedIn(walletOf(calls));
    const { page } = watched;
    await page.addInitScript({ content: `Date.now = ((now) => () => now() + ${skewMs})(Date.now);` });
    await openOffer(watched);
    await page.getByRole('button', { name: /^Pay .* with a wallet$/ }).click();
    await page.getByRole('heading', { name: /Receipt/ }).waitFor();
    await page.getByText(/^paid$/).waitFor();
    expect(calls).toEqual(['eth_requestAccounts', 'wallet_switchEthereumChain', 'eth_signTypedData_v4']);
    expect((await anvil.transfers()).length - before).toBe(1);
    await page.goto(`${server.origin}/account/plan`);
    await page
      .getByRole('heading', { name: /Pro your tier/ })
      .first()
      .waitFor();
    await expectClean(watched);
  });

  test('Of several wallets the person chooses one, and one that lacks the network gets it', async () => {
    const before = (await anvil.transfers()).length;
    const calls: WalletCall[] = [];
    const wallet = walletOf([]);
    await using watched = await signedIn(async (call) => {
      calls.push(call);
      if (call.method === 'wallet_addEthereumChain') return null;
      const isKnown = calls.some(({ method }) => method === 'wallet_addEthereumChain');
      if (call.method === 'wallet_switchEthereumChain' && !isKnown) throw new Error('Unknown');
      return await wallet(call);
    });
    const { page } = watched;
    await page.addInitScript({ content: ANNOUNCED });
    await openOffer(watched);
    const names = 'Array.from(document.querySelector("form[data-payment] select").options, (option) => option.text)';
    expect(await page.evaluate<string[]>(names)).toEqual(['First <b>', 'Second <b>']);
    await page.getByRole('button', { name: /^Pay .* with a wallet$/ }).click();
    await page.getByText(/Your wallet says: the other wallet/).waitFor();
    await page.evaluate('document.querySelector("form[data-payment] select").value = "Second"');
    await page.getByRole('button', { name: /^Pay .* with a wallet$/ }).click();
    await page.getByText(/^paid$/).waitFor();
    expect(calls.map(({ method }) => method)).toEqual([
      'eth_requestAccounts',
      'wallet_switchEthereumChain',
      'wallet_addEthereumChain',
      'wallet_switchEthereumChain',
      'eth_signTypedData_v4',
    ]);
    expect(calls[2]!.params as unknown).toEqual([
      {
        chainId: '0x7a69',
        chainName: 'Anvil',
        rpcUrls: ['https://rpc.example.com/'],
        nativeCurrency: { name: 'POL', symbol: 'POL', decimals: 18 },
      },
    ]);
    expect((await anvil.transfers()).length - before).toBe(1);
    await expectClean(watched);
  });
});
