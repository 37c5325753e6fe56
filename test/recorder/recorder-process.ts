import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RECORDER_FILE, type RecorderStatus } from '../../src/domain/recorder-status.ts';
import { type Child, startChild } from '../support/child.ts';
import { EXECUTABLE } from '../support/executable.ts';

const POLL_MS = 20;

/** `bookreel record` of the executable as a process. */
export class RecorderProcess {
  readonly child: Child;
  readonly #data: string;

  constructor(data: string, url: string, options: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#data = data;
    this.child = startChild([EXECUTABLE, 'record', '--data', data, '--url', url, '--gamma-url', url, ...options], {
      env,
    });
  }

  /** What it wrote last; undefined before it wrote anything. */
  status(): RecorderStatus | undefined {
    try {
      const status = JSON.parse(readFileSync(join(this.#data, RECORDER_FILE), 'utf8')) as RecorderStatus;
      return status.processId === this.child.pid ? status : undefined;
    } catch {
      return undefined;
    }
  }

  /** Waits until its state is so; throws if it ends before. */
  async until(isSo: (status: RecorderStatus) => boolean): Promise<RecorderStatus> {
    for (;;) {
      const status = this.status();
      if (status !== undefined && isSo(status)) return status;
      if (this.child.code !== undefined) throw new Error(`the recorder has ended: ${this.child.stderr()}`);
      await Bun.sleep(POLL_MS);
    }
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    this.child.kill(signal);
    return await this.child.exited;
  }
}
