/**
 * A portable regular expression for the integers from `min` to `max`, both inclusive and at least 0, without leading zeros. It is a
 * list of alternatives without brackets or anchors.
 */
export function integersBetween(min: number, max: number): string {
  const [least, greatest] = [String(min), String(max)];
  if (least.length === greatest.length) return ofOneLength(least, greatest).join('|');
  const [fewest, most] = [least.length + 1, greatest.length - 1];
  return [
    ...ofOneLength(least, '9'.repeat(least.length)),
    ...(fewest > most ? [] : [`[1-9][0-9]{${fewest - 1},${most - 1}}`]),
    ...ofOneLength(`1${'0'.repeat(most)}`, greatest),
  ].join('|');
}

/** `least` and `greatest` have the same number of digits. */
function ofOneLength(least: string, greatest: string): string[] {
  if (least === '') return [''];
  const [low, high] = [Number(least[0]), Number(greatest[0])];
  const [leastRest, greatestRest] = [least.slice(1), greatest.slice(1)];
  // First digits that any further digits may follow.
  const from = /^0*$/.test(leastRest) ? low : low + 1;
  const to = /^9*$/.test(greatestRest) ? high : high - 1;
  if (low === high && from > to) return ofOneLength(leastRest, greatestRest).map((rest) => `${low}${rest}`);
  return [
    ...(from === low ? [] : ofOneLength(leastRest, '9'.repeat(leastRest.length)).map((rest) => `${low}${rest}`)),
    ...(from > to ? [] : [`${digitBetween(from, to)}${anyDigits(leastRest.length)}`]),
    ...(to === high ? [] : ofOneLength('0'.repeat(leastRest.length), greatestRest).map((rest) => `${high}${rest}`)),
  ];
}

function digitBetween(low: number, high: number): string {
  return low === high ? String(low) : `[${low}-${high}]`;
}

function anyDigits(count: number): string {
  return count < 2 ? '[0-9]'.repeat(count) : `[0-9]{${count}}`;
}
