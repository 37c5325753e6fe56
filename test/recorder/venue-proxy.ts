import { SeededRandom } from '../../fixtures/random.ts';
import { GammaFaults } from './gamma-faults.ts';
import type { LinkFaults } from './link-faults.ts';
import { ProxyCounts } from './proxy-counts.ts';
import { ProxyLink, type VenueRules } from './proxy-link.ts';
import { nowMsOf, type VenueClock } from './venue-clock.ts';
import type { SocketEvents, Venue, VenueAnswer, VenueSocket } from './venue-socket.ts';

export interface ProxyOptions {
  readonly venue: Venue;
  readonly clock: VenueClock;
  readonly seed: string;
  readonly rules?: Partial<VenueRules>;
  /** The faults of a new connection, by its number from 1. */
  readonly faultsOf?: (number: number) => Partial<LinkFaults>;
  /** Called with each frame that a client gets, before it gets it. */
  readonly delivered?: (link: ProxyLink, text: string) => void;
}

interface Refusal {
  readonly path: RegExp;
  readonly status: number;
  readonly untilMs: number;
}

const RULES: VenueRules = { dumpAssetsMax: 500, endedAssetsMax: 60 };
const MARKETS = /^(?:\/gamma)?\/markets(?:\/|$)/;

/**
 * Stands between clients and a venue, follows the venue's rules that recordings do not show, and misbehaves on command as the venue
 * does. What it does at random depends on its seed, the clock, and what clients do.
 */
export class VenueProxy implements Venue {
  readonly counts = new ProxyCounts();
  readonly gamma = new GammaFaults();
  readonly #options: ProxyOptions;
  readonly #rules: VenueRules;
  readonly #random: SeededRandom;
  readonly #links = new Set<ProxyLink>();
  readonly #refusals: Refusal[] = [];

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#rules = { ...RULES, ...options.rules };
    this.#random = new SeededRandom(options.seed);
  }

  /** The connections that are open, the oldest first. */
  get links(): ProxyLink[] {
    return [...this.#links].filter(({ isOpen }) => isOpen);
  }

  /** Answers requests for paths, and connections to /ws/market, with a status for a time. */
  refuse(path: RegExp, status: number, forMs: number): void {
    this.#refusals.push({ path, status, untilMs: nowMsOf(this.#options.clock) + forMs });
  }

  connect(events: SocketEvents): VenueSocket {
    const { venue, clock, faultsOf, delivered = () => {} } = this.#options;
    const status = this.refusalOf('/ws/market');
    if (status !== undefined) {
      clock.after(0, () => events.onEnd(`the upgrade was answered with ${status}`));
      return { send: () => {}, close: () => {} };
    }
    this.counts.connections += 1;
    const number = this.counts.connections;
    const deps = { number, venue, clock, random: this.#random, rules: this.#rules, counts: this.counts };
    const ended = (link: ProxyLink) => void this.#links.delete(link);
    const link = new ProxyLink({ ...deps, ended, delivered }, events, faultsOf?.(number) ?? {});
    this.#links.add(link);
    return link;
  }

  async answer(path: string, body?: string): Promise<VenueAnswer> {
    const url = new URL(path, 'http://proxy');
    this.counts.request(url.pathname, url.searchParams.getAll('slug').length);
    const status = this.refusalOf(url.pathname);
    if (status !== undefined) return { status, text: JSON.stringify({ error: `refused with ${status}` }) };
    // As the venue answers a plain GET of the channel.
    if (url.pathname === '/ws/market') return { status: 400, text: 'Bad Request' };
    const answer = await this.#options.venue.answer(path, body);
    return MARKETS.test(url.pathname) && answer.status === 200 ? this.#shown(answer) : answer;
  }

  /** The status with which a path is refused now; undefined if it is not. */
  refusalOf(path: string): number | undefined {
    const nowMs = nowMsOf(this.#options.clock);
    return this.#refusals.find((refusal) => nowMs < refusal.untilMs && refusal.path.test(path))?.status;
  }

  #shown({ status, text }: VenueAnswer): VenueAnswer {
    const nowMs = nowMsOf(this.#options.clock);
    const value = JSON.parse(text);
    if (!Array.isArray(value)) {
      const [shown] = this.gamma.shown([value], nowMs);
      return shown === undefined ? { status: 404, text: '{"error":"slug not found"}' } : this.#noted(status, shown);
    }
    return this.#noted(status, this.gamma.shown(value, nowMs));
  }

  #noted(status: number, shown: object | readonly object[]): VenueAnswer {
    for (const market of [shown].flat() as Record<string, unknown>[]) {
      const { slug, clobTokenIds, eventStartTime, endDate } = market;
      if (!clobTokenIds) continue;
      for (const assetId of JSON.parse(String(clobTokenIds))) {
        this.counts.listed(assetId, String(slug), Date.parse(String(eventStartTime)), Date.parse(String(endDate)));
      }
    }
    this.counts.forget(nowMsOf(this.#options.clock));
    return { status, text: JSON.stringify(shown) };
  }
}
