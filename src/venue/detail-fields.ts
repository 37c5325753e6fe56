import type { DetailName, MarketDetails } from '../domain/market-details.ts';
import { detailsOf } from '../record/detail-fields.ts';
import { type Fields, isFields } from '../record/fields.ts';

/** The venue's names of details: Gamma's, then those that differ in the CLOB and in messages. */
const NAMES: readonly (readonly [DetailName, string])[] = [
  ['question', 'question'],
  ['title', 'title'],
  ['description', 'description'],
  ['resolutionSource', 'resolutionSource'],
  ['questionId', 'questionID'],
  ['questionId', 'question_id'],
  ['image', 'image'],
  ['icon', 'icon'],
  ['makerBaseFee', 'makerBaseFee'],
  ['makerBaseFee', 'maker_base_fee'],
  ['takerBaseFee', 'takerBaseFee'],
  ['takerBaseFee', 'taker_base_fee'],
  ['feesEnabled', 'feesEnabled'],
  ['feesEnabled', 'fees_enabled'],
  ['feeType', 'feeType'],
  ['rewardsMinSize', 'rewardsMinSize'],
  ['rewardsMaxSpread', 'rewardsMaxSpread'],
];
/** The names in `feeSchedule`, which messages call `fee_schedule`. */
const SCHEDULE_NAMES: readonly (readonly [DetailName, string])[] = [
  ['feeRate', 'rate'],
  ['feeExponent', 'exponent'],
  ['feeTakerOnly', 'takerOnly'],
  ['feeTakerOnly', 'taker_only'],
  ['feeRebateRate', 'rebateRate'],
  ['feeRebateRate', 'rebate_rate'],
];
/** The names in `rewards` of the CLOB's markets. */
const REWARD_NAMES: readonly (readonly [DetailName, string])[] = [
  ['rewardsMinSize', 'min_size'],
  ['rewardsMaxSpread', 'max_spread'],
];

/** The details in a market object of Gamma, of the CLOB, or in a `new_market` message; undefined without any. */
export function venueDetails(market: Fields): MarketDetails | undefined {
  const valuesIn = (value: unknown, names: readonly (readonly [DetailName, string])[]) => {
    const fields = isFields(value) ? value : {};
    return names.map(([name, given]) => [name, fields[given]] as const);
  };
  return detailsOf([
    ...valuesIn(market, NAMES),
    ...valuesIn(market.feeSchedule ?? market.fee_schedule, SCHEDULE_NAMES),
    ...valuesIn(market.rewards, REWARD_NAMES),
  ]);
}
