/** The word that is most like a mistyped one, the first of several; undefined if none is like it. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  const edits = words.map((word) => editsBetween(typed, word));
  const fewest = Math.min(...edits);
  return fewest <= typed.length / 2 ? words[edits.indexOf(fewest)] : undefined;
}

/** The number of characters to insert, remove or replace to turn one text into the other. */
function editsBetween(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const edits = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = above[column - 1]! + (one[row - 1] === other[column - 1] ? 0 : 1);
      edits.push(Math.min(replaced, above[column]! + 1, edits[column - 1]! + 1));
    }
    above = edits;
  }
  return above.at(-1)!;
}
