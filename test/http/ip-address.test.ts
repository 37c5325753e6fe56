import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  containsAddress,
  formatIpAddress,
  isIpv4,
  networkOf,
  parseIpAddress,
  parseIpNetwork,
} from '../../src/http/plugins/ip-address.ts';

const ONES = (1n << 128n) - 1n;
const MAPPED = 0xffffn << 32n;

/** Addresses as one number of 128 bits; half of them IPv4, and runs of zeros as real ones have them. */
const bits128 = fc.oneof(
  fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((low) => MAPPED | low),
  fc.bigInt({ min: 0n, max: ONES }),
  fc.tuple(fc.bigInt({ min: 0n, max: ONES }), fc.nat(7), fc.nat(8)).map(([value, from, count]) => {
    const mask = ((1n << BigInt(16 * count)) - 1n) << BigInt(16 * from);
    return value & ~mask & ONES;
  }),
);

describe('an address', () => {
  test('is read from every spelling of it', () => {
    fc.assert(
      fc.property(bits128, (value) => {
        const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn);
        const hex = groups.map((group) => group.toString(16));
        const bytes = groups.slice(6).flatMap((group) => [group >> 8n, group & 255n]);
        const spellings = [
          hex.join(':'),
          hex.map((group) => group.padStart(4, '0').toUpperCase()).join(':'),
          `${hex.slice(0, 6).join(':')}:${bytes.join('.')}`,
          formatIpAddress(value),
        ];
        for (const spelling of spellings) expect(parseIpAddress(spelling), spelling).toBe(value);
      }),
    );
  });

  test.each([
    ['0:0:0:0:0:0:0:0', '::'],
    ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['::102.3.4.5', '::6603:405'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.1', '192.0.2.1'],
  ])('%s has one spelling: %s', (text, expected) => {
    const address = parseIpAddress(text)!;
    expect(formatIpAddress(address)).toBe(expected);
    expect(isIpv4(address)).toBe(!expected.includes(':'));
  });

  const texts = [
    '1 1.2.3 1.2.3.4.5 1.2.3.04 0x1.2.3.4 256.1.1.1 1.2.3.4:80 1.2.3.4:: localhost',
    '[::1] ::1%lo ::: 1::2::3 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7::8 ::1.2.3.4:5 12345::',
  ].flatMap((line) => line.split(' '));

  test.each(['', ' 1.2.3.4', ...texts])('is none: %p', (text) => {
    expect(parseIpAddress(text)).toBeUndefined();
  });
});

describe('a network', () => {
  const bits = fc.nat(128);

  test('contains exactly the addresses with its first bits', () => {
    fc.assert(
      fc.property(bits128, bits128, bits, fc.nat(127), (base, other, length, flipped) => {
        const mask = ONES ^ ((1n << BigInt(128 - length)) - 1n);
        const network = { address: base & mask, bits: length };
        expect(networkOf(base, length)).toBe(base & mask);
        for (const candidate of [other, base, base ^ (1n << BigInt(flipped))]) {
          const isV4 = candidate >> 32n === 0xffffn;
          const expected = (candidate & mask) === (base & mask) && !(isV4 && length < 96);
          expect(containsAddress(network, candidate)).toBe(expected);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('is written as an address, or with the number of its bits', () => {
    fc.assert(
      fc.property(bits128, bits, (base, length) => {
        const mask = ONES ^ ((1n << BigInt(128 - length)) - 1n);
        const address = base & mask;
        const text = formatIpAddress(address);
        const isV4 = !text.includes(':');
        const parsed = parseIpNetwork(`${text}/${isV4 ? length - 96 : length}`);
        expect(parsed).toEqual({ address, bits: length });
        expect(parseIpNetwork(text)).toEqual({ address, bits: 128 });
      }),
    );
  });

  test.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:0:0/96', '1.2.3.4', true],
    ['0.0.0.0/0', '1.2.3.4', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '1.2.3.4', false],
    ['2001:db8::/33', '2001:db8:8000::', false],
  ])('%s and %s: %p', (network, address, expected) => {
    expect(containsAddress(parseIpNetwork(network)!, parseIpAddress(address)!)).toBe(expected);
  });

  const texts = '10.0.0.1/8 10.0.0.0/33 ::/129 10.0.0.0/ 10.0.0.0/08 10.0.0.0/+8 10.0.0.0/8/8 /8 ::1/64';

  test.each(['', ...texts.split(' ')])('is none: %p', (text) => {
    expect(parseIpNetwork(text)).toBeUndefined();
  });
});
