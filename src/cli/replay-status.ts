import { countText } from '../domain/count-text.ts';
import { formatInstant } from '../domain/instant.ts';
import type { Log } from '../http/plugins/log.ts';
import type { Replay } from '../replay/replay.ts';
import type { Replays } from '../replay/replays.ts';
import { eraseLine, paintLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

const REPAINT_MS = 200;

/**
 * Shows on stderr where the clock of a replay is and which clients are connected: on a terminal as a line that is repainted in
 * place, elsewhere as a line of the log for each client that connects or leaves and for each change of a clock.
 */
export class ReplayStatus implements Disposable {
  readonly #terminal: Terminal;
  readonly #replays: Replays;
  readonly #log: Log;
  #stops: readonly (() => void)[] = [];

  constructor(terminal: Terminal, replays: Replays, log: Log) {
    this.#terminal = terminal;
    this.#replays = replays;
    this.#log = log;
  }

  /** Shows the state from here on, until it is disposed of. */
  start(): void {
    if (this.#terminal.errIsTerminal) {
      this.#paint();
      const timer = setInterval(() => this.#paint(), REPAINT_MS);
      this.#stops = [() => clearInterval(timer), () => eraseLine(this.#terminal)];
      return;
    }
    const { clients } = this.#replays;
    this.#stops = [
      clients.onChange(({ kind, change, replay }) => {
        this.#log.info(`${kind} ${change}${replay === undefined ? '' : ` (replay ${replay})`}: ${this.#connected()}`);
      }),
      this.#replays.onSteer((replay) => this.#log.info(`replay ${replay.id}: ${clockText(replay)}`)),
    ];
  }

  /** Writes whole lines. */
  write(lines: string): void {
    eraseLine(this.#terminal);
    this.#terminal.err(lines);
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
  }

  /** The clock comes first: a narrow terminal cuts the end off. */
  #paint(): void {
    const [first, ...others] = this.#replays.list();
    const clock = first === undefined ? 'no replay' : clockText(first);
    const more = others.length === 0 ? '' : `, ${countText(others.length, 'more replay')}`;
    paintLine(this.#terminal, `${clock}: ${this.#connected()}${more}`);
  }

  #connected(): string {
    const { clients } = this.#replays;
    return (['client', 'tardis stream'] as const).map((kind) => countText(clients.count(kind), kind)).join(', ');
  }
}

function clockText({ clock }: Replay): string {
  return `${formatInstant(clock.nowMs)} ${clock.state}, speed ${clock.speed}`;
}
