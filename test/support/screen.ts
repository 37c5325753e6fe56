const ESCAPE = '\u001b';

/** The part of a terminal that the executable uses: tests read the text that a person would see. */
export class Screen {
  readonly rows: string[] = [''];
  /** Everything that was written, unchanged. */
  written = '';
  #columns: number;
  #row = 0;
  #column = 0;
  #wraps = true;
  #pending = '';
  readonly #decoder = new TextDecoder();

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.written += text;
    for (const character of text) {
      this.#pending += character;
      // A sequence ends with its first letter.
      if (this.#pending.startsWith(ESCAPE) && !/[a-zA-Z]$/.test(this.#pending)) continue;
      this.#take(this.#pending);
      this.#pending = '';
    }
  }

  /** Breaks rows that are too long now, as most terminals do. The cursor stays on its character. */
  narrow(columns: number): void {
    this.#columns = columns;
    const before = this.rows.splice(0);
    for (const [index, text] of before.entries()) {
      if (index === this.#row) this.#row = this.rows.length;
      for (let at = 0; at === 0 || at < text.length; at += columns) this.rows.push(text.slice(at, at + columns));
    }
  }

  #take(token: string): void {
    if (token === '\r') this.#column = 0;
    else if (token === '\n') this.#moveDown();
    else if (token === `${ESCAPE}[?7l`) this.#wraps = false;
    else if (token === `${ESCAPE}[?7h`) this.#wraps = true;
    else if (token === `${ESCAPE}[J`) {
      this.rows.splice(this.#row + 1);
      this.rows[this.#row] = this.rows[this.#row]!.slice(0, this.#column);
    } else if (token.startsWith(ESCAPE) && token.endsWith('m')) {
      // A style.
    } else if (token.startsWith(ESCAPE)) throw new Error(`unknown sequence ${JSON.stringify(token)}`);
    else this.#print(token);
  }

  #print(character: string): void {
    if (this.#column === this.#columns) {
      if (this.#wraps) {
        this.#column = 0;
        this.#moveDown();
      } else this.#column -= 1;
    }
    const row = this.rows[this.#row]!;
    this.rows[this.#row] = `${row.slice(0, this.#column)}${character}${row.slice(this.#column + 1)}`;
    this.#column += 1;
  }

  #moveDown(): void {
    this.#row += 1;
    if (this.#row === this.rows.length) this.rows.push('');
  }
}
