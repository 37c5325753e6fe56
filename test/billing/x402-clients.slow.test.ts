import { clientsBuy } from './x402-clients.ts';

clientsBuy(1);
clientsBuy(2);
