/** The kind of a detail's value. An amount is a number of at least 0. */
export type DetailKind = 'text' | 'flag' | 'amount';

/**
 * The details that the venue states about a market besides the fields of `Market`: texts and fees, which do not change while the
 * market exists. Base fees are in hundredths of a percent; `feeRate` is a fraction, with the exponent of the venue's formula.
 * `title`, `description` and pictures of the event are the market's, except that it has a title and the market a question.
 */
export const DETAIL_KINDS = {
  question: 'text',
  title: 'text',
  description: 'text',
  resolutionSource: 'text',
  questionId: 'text',
  image: 'text',
  icon: 'text',
  makerBaseFee: 'amount',
  takerBaseFee: 'amount',
  feesEnabled: 'flag',
  feeType: 'text',
  feeRate: 'amount',
  feeExponent: 'amount',
  feeTakerOnly: 'flag',
  feeRebateRate: 'amount',
  rewardsMinSize: 'amount',
  rewardsMaxSpread: 'amount',
} as const satisfies Readonly<Record<string, DetailKind>>;

export type DetailName = keyof typeof DETAIL_KINDS;
export const DETAIL_NAMES = Object.keys(DETAIL_KINDS) as readonly DetailName[];

interface ValueOfKind {
  readonly text: string;
  readonly flag: boolean;
  readonly amount: number;
}

/** The details that a recording states; a missing one is unknown. */
export type MarketDetails = { readonly [Name in DetailName]?: ValueOfKind[(typeof DETAIL_KINDS)[Name]] };

/** Longer than any of the venue's descriptions. */
const TEXT_CHARS_MAX = 10_000;

export function isDetail(kind: DetailKind, value: unknown): value is string | boolean | number {
  switch (kind) {
    case 'text':
      // UTF-8 cannot encode half of a surrogate pair.
      return typeof value === 'string' && value !== '' && value.length <= TEXT_CHARS_MAX && value.isWellFormed();
    case 'flag':
      return typeof value === 'boolean';
    case 'amount':
      return typeof value === 'number' && Number.isFinite(value) && value >= 0;
  }
}

/** The details of `first`, and those of `second` that `first` does not have; in the order of DETAIL_NAMES. */
export function joinedDetails(first: MarketDetails, second: MarketDetails): MarketDetails {
  const either: MarketDetails = { ...second, ...first };
  return Object.fromEntries(DETAIL_NAMES.flatMap((name) => (name in either ? [[name, either[name]]] : [])));
}
