import type { HeatMap } from '../../../domain/heat-map.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Explorer, ShownMarket } from './explorer.ts';
import { heatMapWindow } from './heat-map-loader.ts';
import { heatMapPath, laddersPath } from './server-source.ts';
import { outcomesOf } from './view-choices.ts';

/** The requests of what is shown: their paths, with the prefix of the replay. */
export function shownRequests(
  { connection, marketPath, columns }: Explorer,
  { state }: ShownMarket,
): { readonly heatMaps: readonly string[]; readonly ladders: string } {
  const path = `${connection.settings.prefix}${marketPath.value!}`;
  const [choice, time] = [state.outcome.value, state.time.value];
  return {
    heatMaps: outcomesOf(choice).map((outcome) => heatMapPath(path, heatMapWindow(outcome, time, columns.value))),
    ladders: laddersPath(path, { choice, atMs: state.atMs.value, depth: state.depth.value }),
  };
}

/** `hasTrades`: true if the trades of its columns are known. */
interface ShownHeatMap {
  readonly heatMap: HeatMap;
  readonly hasTrades: boolean;
}

/** The heat map of the window, with its trades if they are drawn; undefined until it is loaded. */
export function shownHeatMap(
  { connection, loader, trades, isLocal }: Explorer,
  { state }: ShownMarket,
  outcome: Outcome,
): ShownHeatMap | undefined {
  const { from, to } = state.time.value;
  const withTrades = connection.grants('prices');
  const loaded = [
    { heatMaps: trades.value, isWanted: state.layers.value.has('trades'), hasTrades: withTrades },
    { heatMaps: loader.heatMaps.value, isWanted: true, hasTrades: withTrades && !isLocal.value },
  ];
  for (const { heatMaps, isWanted, hasTrades } of loaded) {
    const heatMap = heatMaps.get(outcome)?.window;
    const isShown = heatMap?.columns.at(0)?.fromMs === from && heatMap.columns.at(-1)?.toMs === to - 1;
    if (isWanted && isShown) return { heatMap, hasTrades };
  }
  return undefined;
}
