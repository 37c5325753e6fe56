import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SIZE_COLOURS } from '../../src/domain/heat-map-picture.ts';

const PAGES = join(import.meta.dir, '..', '..', 'src', 'http', 'pages');
const read = (file: string) => readFileSync(join(PAGES, file), 'utf8');
type Triple<T> = readonly [T, T, T];
type Rgb = Triple<number>;
type Matrix = Triple<Rgb>;

const each = <T>([a, b, c]: Triple<T>, of: (one: T) => number): Rgb => [of(a), of(b), of(c)];

/** The colour of a variable of the style sheet, light and dark. */
function shownAs(variable: string): { readonly light: string; readonly dark: string } {
  const [, light = '', dark = ''] = new RegExp(`${variable}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(
    read('frame.css'),
  )!;
  return { light, dark };
}

const linearOf = (hex: string) =>
  each([1, 3, 5], (at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });

const times = (matrix: Matrix, [r, g, b]: Rgb) =>
  each(matrix, ([x, y, z]) => Math.min(1, Math.max(0, x * r + y * g + z * b)));

/** Machado, Oliveira, Fernandes 2009, severity 1, for linear RGB. */
const VISIONS: Readonly<Record<string, Matrix>> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

/** CIE L*a*b* of linear sRGB, D65. */
function labOf(rgb: Rgb): Rgb {
  const toXyz: Matrix = [
    [0.4124 / 0.9505, 0.3576 / 0.9505, 0.1805 / 0.9505],
    [0.2126, 0.7152, 0.0722],
    [0.0193 / 1.089, 0.1192 / 1.089, 0.9505 / 1.089],
  ];
  const [x, y, z] = each(times(toXyz, rgb), (part) => (part > 0.008856 ? Math.cbrt(part) : 7.787 * part + 16 / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const luminanceOf = (hex: string) => {
  const [r, g, b] = linearOf(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrastOf = (a: string, b: string) => {
  const [dark, light] = [luminanceOf(a), luminanceOf(b)].sort((one, other) => one - other);
  return (light! + 0.05) / (dark! + 0.05);
};

describe.each(['light', 'dark'] as const)('the colours of up and down, bids and asks (%s)', (scheme) => {
  const [bid, ask] = [shownAs('--bid')[scheme], shownAs('--ask')[scheme]];

  test.each(Object.keys(VISIONS))('differ by at least 30 units of CIE Lab (%s)', (vision) => {
    const [a, b] = [bid, ask].map((hex) => labOf(times(VISIONS[vision]!, linearOf(hex))));
    expect(Math.hypot(...a!.map((part, nth) => part - b![nth]!))).toBeGreaterThan(30);
  });

  test('can be read on the pages and on their own soft colours', () => {
    for (const under of ['--surface', '--paper', '--sunken']) {
      for (const colour of [bid, ask]) expect(contrastOf(colour, shownAs(under)[scheme])).toBeGreaterThan(4.5);
    }
    expect(contrastOf(bid, shownAs('--bid-soft')[scheme])).toBeGreaterThan(4.5);
    expect(contrastOf(ask, shownAs('--ask-soft')[scheme])).toBeGreaterThan(4.5);
  });
});

test('up and down have no other colours, nor have bids and asks, and the shades of a heat map have their hues', () => {
  for (const [, name, rules] of `${read('style.css')}${read('market-view.css')}`.matchAll(
    /&?[ .](up|down|bid|ask|bought|sold)\b[^{;]*\{([^{}]*)\}/g,
  )) {
    const side = ['up', 'bid', 'bought'].includes(name!) ? 'bid' : 'ask';
    for (const [, variable] of rules!.matchAll(/var\(--([\w-]+)\)/g))
      expect(variable).toMatch(new RegExp(`^${side}(-soft)?$`));
  }
  for (const { bids, asks } of Object.values(SIZE_COLOURS)) {
    for (const hex of bids)
      expect(Number.parseInt(hex.slice(5), 16)).toBeGreaterThan(Number.parseInt(hex.slice(1, 3), 16));
    for (const hex of asks)
      expect(Number.parseInt(hex.slice(5), 16)).toBeLessThan(Number.parseInt(hex.slice(1, 3), 16));
  }
});
