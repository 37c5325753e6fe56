/** Lines of a suggestion; those that state what the file does not show are comments. */
export type Lines = readonly string[];

/** A text of TOML, which takes the escapes of JSON. */
export function quoted(text: string): string {
  return JSON.stringify(text.toWellFormed()).replaceAll('\u007f', '\\u007f');
}
