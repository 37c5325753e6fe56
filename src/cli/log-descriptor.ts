import { write } from 'node:fs';
import type { LogSink } from '../http/plugins/log.ts';

/** Time until the next attempt at a full pipe that another process has made non-blocking. */
const AGAIN_MS = 10;

/**
 * Writes to an open file descriptor from another thread: a pipe whose reader has stopped blocks that thread, not the one that
 * answers requests. Takes one text at a time, see Log. Other writers of a full pipe may write between two parts of a text.
 */
export function logDescriptor(descriptor: number): LogSink {
  return async (text) => {
    const bytes = Buffer.from(text);
    let written = 0;
    while (written < bytes.length) written += await writeSome(descriptor, bytes, written);
  };
}

function writeSome(descriptor: number, bytes: Buffer, from: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, from, bytes.length - from, null, (error, written) => {
      if (error === null) resolve(written);
      else if (error.code === 'EAGAIN') setTimeout(() => resolve(0), AGAIN_MS);
      else reject(error);
    });
  });
}
