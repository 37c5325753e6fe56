import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { jsonOfPython } from '../../../src/import/parse/python-literal.ts';

describe('what Python prints', () => {
  test.each([
    ["[{'price': '0.51', 'size': '120.5'}]", '[{"price":"0.51","size":"120.5"}]'],
    ['[(0.51, 120.5), (0.5, 3.0)]', '[[0.51,120.5],[0.5,3.0]]'],
    ['{0.51: 120.5, 0.5: 3}', '{"0.51":120.5,"0.5":3}'],
    ["[[Decimal('0.51'), np.float64(120.50)]]", '[["0.51",120.50]]'],
    [
      "{'a': None, 'b': True, 'c': False, 'd': nan, 'e': (1,), 'f': [], 'g': {}}",
      '{"a":null,"b":true,"c":false,"d":null,"e":[1],"f":[],"g":{}}',
    ],
    [`["it's", 'a "quote"', 'back\\\\slash', 'it\\'s']`, '["it\'s","a \\"quote\\"","back\\\\slash","it\'s"]'],
    [
      '[1e-05, -3, 71321045679252212594626385532706912750332728571942532289631379312455583992563]',
      '[1e-05,-3,71321045679252212594626385532706912750332728571942532289631379312455583992563]',
    ],
  ])('%s', (python, json) => {
    expect(jsonOfPython(python)).toBe(json);
    JSON.parse(json);
  });

  test.each(["[{'price': '0.51'", '[1)', '(1]', '{1}}', "['a\\x00']", '[1; 2]', '[<Level 0.51>]'])(
    '%s is no literal',
    (text) => {
      expect(jsonOfPython(text)).toBeUndefined();
    },
  );

  /** Python's own form of a value, as an independent oracle writes it. */
  const printed = (value: unknown): string => {
    if (value === null) return 'None';
    if (typeof value === 'boolean') return value ? 'True' : 'False';
    if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`;
    if (Array.isArray(value)) return `[${value.map(printed).join(', ')}]`;
    if (typeof value !== 'object') return String(value);
    return `{${Object.entries(value)
      .map(([key, member]) => `${printed(key)}: ${printed(member)}`)
      .join(', ')}}`;
  };
  test('any value of JSON without control characters is read back', () => {
    const text = fc.string({ unit: fc.constantFrom(...`abz09 '"\\()[]{}:,`) });
    const leaf = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('tree')), fc.dictionary(text, tie('tree'))),
    }));
    fc.assert(
      fc.property(tree, (value) => expect(JSON.parse(jsonOfPython(printed(value))!)).toEqual(value)),
      { numRuns: 500 },
    );
  });
});
