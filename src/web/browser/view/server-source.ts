import type { Snapshot } from '../../../client/segment-reader.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import type { HeatMapResource } from '../../../domain/heat-map-resource.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Connection, RequestOptions } from './connection.ts';
import { heatMapOf } from './heat-map-answer.ts';
import { LadderBatches } from './ladder-batches.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import type { HeatMapWindow } from './recording.ts';

/** The path and query of a window's heat map. */
export function heatMapPath(marketPath: string, { fromMs, toMs, columns, outcome }: HeatMapWindow): string {
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return `${marketPath}/heatmap?from=${from}&to=${to}&columns=${columns}&outcome=${outcome}`;
}

/** The path and query of the ladders at an instant. */
export function laddersPath(marketPath: string, query: LadderQuery): string {
  return `${marketPath}/snapshots/at/${new Date(query.atMs).toISOString()}?${laddersQuery(query)}`;
}

function laddersQuery({ choice, depth }: LadderQuery): string {
  return `${choice === 'both' ? '' : `outcome=${choice}&`}mode=before&depth=${depth}`;
}

/** The books of a market: each is requested from the server. */
export class ServerSource implements MarketSource {
  readonly #connection: Connection;
  readonly #marketPath: string;
  readonly #played = new LadderBatches(async (query, instants) => {
    const path = `${this.#marketPath}/snapshots/at?ts=${instants.join()}&${laddersQuery(query)}`;
    const { data } = await this.#connection.get<{ data: readonly { data: Snapshot[] }[] }>(path);
    return data.map((answer) => answer.data);
  });

  /** `marketPath` is `/v1/{coin}/markets/{conditionId}`. */
  constructor(connection: Connection, marketPath: string) {
    this.#connection = connection;
    this.#marketPath = marketPath;
  }

  async heatMap(window: HeatMapWindow, signal: AbortSignal): Promise<HeatMap> {
    const path = heatMapPath(this.#marketPath, window);
    return heatMapOf((await this.#connection.get<{ data: HeatMapResource }>(path, { signal })).data);
  }

  /** Drops the ladders that were loaded ahead, because the market has changed. */
  forget(): void {
    this.#played.forget();
  }

  async ladders(query: LadderQuery, stepMs?: number): Promise<readonly Snapshot[]> {
    if (stepMs !== undefined) return await this.#played.at(query, stepMs);
    return await this.#snapshots(laddersPath(this.#marketPath, query), {});
  }

  async neighbour(outcome: Outcome, atMs: number, direction: -1 | 1, signal: AbortSignal): Promise<number | undefined> {
    const at = new Date(atMs + direction).toISOString();
    const mode = direction === 1 ? 'after' : 'before';
    const path = `${this.#marketPath}/snapshots/at/${at}?outcome=${outcome}&mode=${mode}&depth=1`;
    const [found] = await this.#snapshots(path, { signal });
    return found && Date.parse(found.timestamp);
  }

  async #snapshots(path: string, options: RequestOptions): Promise<readonly Snapshot[]> {
    return (await this.#connection.get<{ data: Snapshot[] }>(path, options)).data;
  }
}
