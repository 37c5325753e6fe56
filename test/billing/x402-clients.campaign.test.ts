import { clientsBuy } from './x402-clients.ts';

clientsBuy(2);
clientsBuy(6);
