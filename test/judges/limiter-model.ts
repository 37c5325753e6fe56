const WINDOW_MS = 60_000;

/** A service's answer about a subject's limit, as the contract defines it. */
export interface Budget {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Milliseconds until the end of the window. */
  readonly leftMs: number;
}

/**
 * Fixed windows of a minute, implemented from the contract: it keeps every allowed request, a window is the minute after the
 * first one, and refused requests do not count.
 */
export class LimiterModel {
  readonly #allowedAt = new Map<string, number[]>();

  ask(subject: string, limit: number, nowMs: number): Budget {
    const times = this.#allowedAt.get(subject) ?? [];
    const open = times[0] !== undefined && nowMs - times[0] < WINDOW_MS ? times : [];
    const allowed = open.length < limit;
    const now = allowed ? [...open, nowMs] : open;
    this.#allowedAt.set(subject, now);
    return { allowed, remaining: Math.max(0, limit - now.length), leftMs: (now[0] ?? nowMs) + WINDOW_MS - nowMs };
  }
}
