import { setDefaultTimeout, test } from 'bun:test';
import { sized } from '../support/campaign-size.ts';
import { HAS_ANVIL } from './anvil.ts';
import { killAtRandom, killWhileSettling } from './killed-payment.ts';

setDefaultTimeout(1_800_000);

/** KILLS: kills of each kind at random instants, SEED: of those instants. */
const KILLS = Number(process.env.KILLS ?? sized(6, 20));
const SEED = Number(process.env.SEED ?? 20_261_125);

test.skipIf(!HAS_ANVIL)(
  'killed before and after each call while settling, transfers on chain = grants (needs anvil)',
  async () => {
    await killWhileSettling();
  },
);

test.skipIf(!HAS_ANVIL).each([
  ['with a gas key', false],
  ['with a facilitator', true],
])(
  `killed ${KILLS} times at random instants %s, the service sends each payment that it has stored, without its client (needs anvil)`,
  async (_, byFacilitator) => await killAtRandom(KILLS, { byFacilitator, seed: SEED }),
);
