import { clientsBuy } from './x402-clients.ts';

clientsBuy(1);
