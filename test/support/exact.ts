/** A decimal as digits · 10^exponent, the digits without trailing zeros: exact arithmetic for oracles. */
export interface Exact {
  readonly digits: bigint;
  readonly exponent: number;
}

const DECIMAL = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

/** Reads a decimal text, or the shortest text of a number. */
export function exactOf(value: string | number): Exact {
  const match = DECIMAL.exec(String(value));
  if (match === null) throw new Error(`not a decimal: ${value}`);
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  return normal(digits, Number(exponent) - fraction.length);
}

function normal(digits: bigint, exponent: number): Exact {
  if (digits === 0n) return { digits: 0n, exponent: 0 };
  let rest = digits;
  let power = exponent;
  while (rest % 10n === 0n) {
    rest /= 10n;
    power += 1;
  }
  return { digits: rest, exponent: power };
}

export function addExact(a: Exact, b: Exact): Exact {
  const exponent = Math.min(a.exponent, b.exponent);
  return normal(a.digits * power(a.exponent - exponent) + b.digits * power(b.exponent - exponent), exponent);
}

export function negated(a: Exact): Exact {
  return { digits: -a.digits, exponent: a.exponent };
}

export function halved(a: Exact): Exact {
  return normal(a.digits * 5n, a.exponent - 1);
}

function power(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}
