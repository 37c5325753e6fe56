/** Every message of frames as lines of its own, price changes by entry: what no cut, repeat or order of frames changes. */
export function entriesOf(texts: readonly string[]): string[] {
  return texts
    .filter((text) => text !== 'PONG')
    .flatMap((text) => JSON.parse(text))
    .flatMap(({ price_changes, ...message }) =>
      price_changes === undefined
        ? [JSON.stringify(message)]
        : price_changes.map((entry: object) => JSON.stringify({ ...message, ...entry })),
    );
}
