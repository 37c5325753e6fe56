const SHOWN_MAX = 10;

/** Lines of one list that the other one has not, at most ten of each. */
export function difference(found: readonly string[], expected: readonly string[]) {
  const [inFound, inExpected] = [new Set(found), new Set(expected)];
  return {
    extra: found.filter((line) => !inExpected.has(line)).slice(0, SHOWN_MAX),
    missing: expected.filter((line) => !inFound.has(line)).slice(0, SHOWN_MAX),
  };
}
