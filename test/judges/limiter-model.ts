const WINDOW_MS = 60_000;

/** What the contract lets a service say of a subject's budget. */
export interface Budget {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Milliseconds until the window ends. */
  readonly leftMs: number;
}

/**
 * Fixed windows of a minute, told from the contract's words: every allowed request is kept, a window is the minute from
 * the first one on, and what is refused is not counted.
 */
export class LimiterModel {
  readonly #allowedAt = new Map<string, number[]>();

  ask(subject: string, limit: number, nowMs: number): Budget {
    const held = this.#allowedAt.get(subject) ?? [];
    const open = held[0] !== undefined && nowMs - held[0] < WINDOW_MS ? held : [];
    const allowed = open.length < limit;
    const now = allowed ? [...open, nowMs] : open;
    this.#allowedAt.set(subject, now);
    return { allowed, remaining: Math.max(0, limit - now.length), leftMs: (now[0] ?? nowMs) + WINDOW_MS - nowMs };
  }
}
