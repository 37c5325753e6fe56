// Buys a tier as customers do, with the clients of the x402 project as they are published. Runs in Bun and in Node.
// Arguments: the client (fetch or axios), and as JSON url, key, privateKey, network and asset.
import { ExactEvmScheme } from '@x402/evm';
import { privateKeyToAccount } from 'viem/accounts';

const PAUSE_MS = 500;
const TRIES = 120;

const [client, given] = process.argv.slice(2);
const { url, key, privateKey, network, asset } = JSON.parse(given);
const config = {
  schemes: [{ network, client: new ExactEvmScheme(privateKeyToAccount(privateKey)) }],
  spendControls: { allowedAssets: [{ network, asset, maxAmountPerPayment: '100000000' }] },
};
const headers = { authorization: `Bearer ${key}` };

async function buyerOf() {
  if (client === 'fetch') {
    const { wrapFetchWithPaymentFromConfig } = await import('@x402/fetch');
    const pay = wrapFetchWithPaymentFromConfig(fetch, config);
    return async () => (await pay(url, { method: 'POST', headers })).status;
  }
  const { wrapAxiosWithPaymentFromConfig } = await import('@x402/axios');
  const { default: axios } = await import('axios');
  const pay = wrapAxiosWithPaymentFromConfig(axios.create(), config);
  return async () => (await pay.post(url, undefined, { headers })).status;
}

const buy = await buyerOf();
const statuses = [];
for (let tries = 0; tries < TRIES && statuses.at(-1) !== 200; tries += 1) {
  if (tries > 0) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  statuses.push(await buy());
}
console.log(JSON.stringify(statuses));
