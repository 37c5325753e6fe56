interface CommandsContent {
  readonly lines: readonly string[];
  /** The id of the code, for a button that copies it. */
  readonly id?: string;
}

/** Commands to copy, one per line. Lines that do not fit are broken. */
export function Commands({ lines, id }: CommandsContent) {
  return (
    <pre class="commands">
      <code id={id}>{lines.join('\n')}</code>
    </pre>
  );
}
