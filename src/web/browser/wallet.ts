import { leftText } from '../texts.ts';
import type { WalletPayment } from '../wallet-payment.ts';

/** A wallet of the browser (EIP-1193). */
interface Wallet {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>;
}

declare global {
  interface Window {
    readonly ethereum?: Wallet;
  }
}

/** How a wallet introduces itself (EIP-6963). */
type Announcement = CustomEvent<{
  readonly info: { readonly uuid: string; readonly name: string };
  readonly provider: Wallet;
}>;

/** EIP-1193, EIP-3085: the wallet does not have the network. */
const UNKNOWN_NETWORK = 4902;

/** `<form data-payment>` gets a signed payment into its field `payment`, and is sent. Without a wallet its button stays hidden, and `[data-no-wallet]` says what to do. */
const form = document.querySelector<HTMLFormElement>('form[data-payment]');
if (form !== null) findWallets(form);

/** `<b data-seconds="600">` counts down. */
const left = document.querySelector<HTMLElement>('[data-seconds]');
if (left !== null) countDown(left, Number(left.dataset.seconds) * 1000 - performance.now());

function countDown(shown: HTMLElement, leftMs: number): void {
  const endMs = performance.now() + leftMs;
  const timer = setInterval(() => {
    const seconds = Math.max(0, Math.floor((endMs - performance.now()) / 1000));
    shown.textContent = leftText(seconds);
    if (seconds === 0) clearInterval(timer);
  }, 1000);
}

/** Shows the button with the first wallet, and a choice with the second. */
function findWallets(form: HTMLFormElement): void {
  const select = form.querySelector('select')!;
  const wallets = new Map<string, Wallet>();
  const add = (id: string, name: string, wallet: Wallet) => {
    if (wallets.has(id)) return;
    if (wallets.size === 0) offer(form, () => wallets.get(select.value)!);
    wallets.set(id, wallet);
    select.add(new Option(name, id));
    select.hidden = wallets.size < 2;
  };
  window.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as Announcement).detail;
    add(info.uuid, info.name, provider);
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  if (wallets.size === 0 && window.ethereum !== undefined) add('', 'Wallet of this browser', window.ethereum);
}

function offer(form: HTMLFormElement, chosen: () => Wallet): void {
  const button = form.querySelector('button')!;
  const status = form.querySelector('output')!;
  const field = form.querySelector<HTMLInputElement>('input[name=payment]')!;
  button.hidden = false;
  form.querySelector<HTMLElement>('[data-no-wallet]')!.hidden = true;
  form.addEventListener('submit', (event) => {
    if (field.value !== '') return;
    event.preventDefault();
    button.disabled = true;
    status.textContent = 'Sign the transfer in your wallet.';
    signed(chosen(), JSON.parse(form.dataset.payment ?? '') as WalletPayment).then(
      (payment) => {
        field.value = payment;
        status.textContent = 'Signed. Wait a few seconds for the network.';
        form.requestSubmit();
      },
      (error: unknown) => {
        button.disabled = false;
        status.textContent = `Nothing was paid. Your wallet says: ${messageOf(error)}`;
      },
    );
  });
}

/** The payload of x402 as base64. */
async function signed(wallet: Wallet, { accepted, transfer, nowSeconds, network }: WalletPayment): Promise<string> {
  const [from] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  // Wallets sign only for the network that they show.
  const chainId = `0x${transfer.domain.chainId.toString(16)}`;
  const show = () => wallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
  await show().catch(async (error: unknown) => {
    if (network === undefined || (error as { code?: unknown } | null)?.code !== UNKNOWN_NETWORK) throw error;
    await wallet.request({ method: 'wallet_addEthereumChain', params: [{ chainId, ...network }] });
    await show();
  });
  // The clock of the browser may be wrong.
  const openSeconds = Math.floor(performance.now() / 1000);
  const validBefore = String(nowSeconds + openSeconds + accepted.maxTimeoutSeconds);
  const authorization = { ...transfer.message, from, validBefore };
  const typed = JSON.stringify({ ...transfer, message: authorization });
  const signature = await wallet.request({ method: 'eth_signTypedData_v4', params: [from, typed] });
  return btoa(JSON.stringify({ x402Version: 2, accepted, payload: { signature, authorization } }));
}

function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);
}
