import type { Snapshot } from '../../../client/segment-reader.ts';
import type { HeatMap } from '../../../domain/heat-map.ts';
import { heatMapOf } from '../../../domain/heat-map-json.ts';
import type { HeatMapResource } from '../../../domain/heat-map-resource.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Connection, RequestOptions } from './connection.ts';
import type { LadderQuery, MarketSource } from './market-source.ts';
import type { HeatMapWindow } from './recording.ts';

/** The path and query of a window's heat map. */
export function heatMapPath(marketPath: string, { fromMs, toMs, columns, outcome }: HeatMapWindow): string {
  const [from, to] = [new Date(fromMs).toISOString(), new Date(toMs).toISOString()];
  return `${marketPath}/heatmap?from=${from}&to=${to}&columns=${columns}&outcome=${outcome}`;
}

/** The path and query of the ladders at an instant. */
export function laddersPath(marketPath: string, { choice, atMs, depth }: LadderQuery): string {
  const outcome = choice === 'both' ? '' : `outcome=${choice}&`;
  return `${marketPath}/snapshots/at/${new Date(atMs).toISOString()}?${outcome}mode=before&depth=${depth}`;
}

/** The books of a market: each is requested from the server. */
export class ServerSource implements MarketSource {
  readonly #connection: Connection;
  readonly #marketPath: string;

  /** `marketPath` is `/v1/{coin}/markets/{conditionId}`. */
  constructor(connection: Connection, marketPath: string) {
    this.#connection = connection;
    this.#marketPath = marketPath;
  }

  async heatMap(window: HeatMapWindow, signal: AbortSignal): Promise<HeatMap> {
    const path = heatMapPath(this.#marketPath, window);
    return heatMapOf((await this.#connection.get<{ data: HeatMapResource }>(path, { signal })).data);
  }

  async ladders(query: LadderQuery): Promise<readonly Snapshot[]> {
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
