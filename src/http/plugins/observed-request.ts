import type { ClockReading } from '../../domain/rate-window.ts';
import type { RequestMetrics } from '../metrics/request-metrics.ts';
import type { RequestObserver } from '../response/response.ts';
import type { AccessLog } from './access-log.ts';

export interface RequestObservation {
  readonly accessLog: AccessLog | undefined;
  readonly metrics: RequestMetrics | undefined;
  readonly clocks: () => ClockReading;
}

/** Logs and counts one request, when its answer begins. */
export class ObservedRequest implements RequestObserver {
  route = '';
  tier = '';
  keyId: string | undefined;
  readonly #observation: RequestObservation;
  readonly #request: Request;
  readonly #requestId: string;
  readonly #address: string;
  readonly #startMs: number;
  #isAnswered = false;

  constructor(observation: RequestObservation, request: Request, requestId: string, address: string) {
    this.#observation = observation;
    this.#request = request;
    this.#requestId = requestId;
    this.#address = address;
    this.#startMs = observation.clocks().monotonicMs;
  }

  answered(status: number, bytes: number | null): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const { accessLog, metrics, clocks } = this.#observation;
    const { wallMs, monotonicMs } = clocks();
    const { route, tier, keyId } = this;
    const { method, url, headers } = this.#request;
    const durationMs = monotonicMs - this.#startMs;
    metrics?.answered({ route, method, tier, status }, method === 'HEAD' ? 0 : (bytes ?? 0), durationMs / 1000);
    accessLog?.add({
      requestId: this.#requestId,
      address: this.#address,
      method,
      url,
      agent: headers.get('user-agent'),
      keyId,
      status,
      bytes,
      timeMs: wallMs,
      durationMs,
    });
  }

  sent(bytes: number): void {
    this.#observation.metrics?.sent(this.route, bytes);
  }

  streamChanged(change: 1 | -1): void {
    this.#observation.metrics?.streamChanged(this.route, change);
  }

  refused(kind: string): void {
    this.#observation.metrics?.refused(kind);
  }
}
