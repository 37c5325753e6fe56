/** `file` for 1, else `files`. */
export function nounText(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}

/** `1 file`, `2 files`. */
export function countText(count: number, noun: string): string {
  return `${count} ${nounText(count, noun)}`;
}
