interface CommandsContent {
  readonly lines: readonly string[];
  /** The id of the code, for a button that copies it. */
  readonly id?: string;
}

/** Commands to copy, one per line. */
export function Commands({ lines, id }: CommandsContent) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: with the keyboard people scroll what has the focus
    <pre tabIndex={0}>
      <code id={id}>{lines.join('\n')}</code>
    </pre>
  );
}
