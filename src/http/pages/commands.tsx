/** Commands to copy, one per line. */
export function Commands({ lines }: { readonly lines: readonly string[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: with the keyboard people scroll what has the focus
    <pre tabIndex={0}>
      <code>{lines.join('\n')}</code>
    </pre>
  );
}
