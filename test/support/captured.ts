import type { Terminal } from '../../src/cli/terminal.ts';

export interface CapturedTerminal extends Terminal {
  stdout(): string;
  stderr(): string;
}

/** A terminal that keeps what a command of this process prints. */
export function captured(clock: () => number = Date.now): CapturedTerminal {
  let [out, err] = ['', ''];
  return {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
    write: async (bytes) => {
      out += Buffer.from(bytes).toString();
    },
    outIsTerminal: false,
    errIsTerminal: false,
    outColumns: () => 80,
    errColumns: () => 80,
    outHasColour: false,
    errHasColour: false,
    clock,
    operatingUser: 'operator',
    stdout: () => out,
    stderr: () => err,
  };
}
