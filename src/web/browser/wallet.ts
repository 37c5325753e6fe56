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

/** `<form data-payment>` gets a signed payment into its field `payment`, and is sent. Without a wallet its button stays hidden. */
const form = document.querySelector<HTMLFormElement>('form[data-payment]');
const wallet = window.ethereum;
if (form !== null && wallet !== undefined) offer(form, wallet);

function offer(form: HTMLFormElement, wallet: Wallet): void {
  const button = form.querySelector('button')!;
  const status = form.querySelector('output')!;
  const field = form.querySelector<HTMLInputElement>('input[name=payment]')!;
  button.hidden = false;
  status.textContent = '';
  form.addEventListener('submit', (event) => {
    if (field.value !== '') return;
    event.preventDefault();
    button.disabled = true;
    status.textContent = 'Sign the transfer in your wallet.';
    signed(wallet, JSON.parse(form.dataset.payment ?? '') as WalletPayment).then(
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
async function signed(wallet: Wallet, { accepted, transfer, nowSeconds }: WalletPayment): Promise<string> {
  const [from] = (await wallet.request({ method: 'eth_requestAccounts' })) as string[];
  // Wallets sign only for the network that they show.
  const chainId = `0x${transfer.domain.chainId.toString(16)}`;
  await wallet.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] });
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
