/** A request as a command. The key is a variable of the shell: the page never shows one. */
export function curlCommand(origin: string, path: string, needsKey: boolean): string {
  const header = needsKey ? `-H "Authorization: Bearer $KEY" ` : '';
  return `curl -s ${header}'${origin}${path}'`;
}
