import { useSignal } from '@preact/signals';
import type { HeatMap } from '../../../domain/heat-map.ts';
import { heatMapResource } from '../../../domain/heat-map-json.ts';
import type { Outcome } from '../../../domain/outcome.ts';
import type { Explorer, MarketContent, ShownMarket } from './explorer.ts';
import { heatMapWindow } from './heat-map-loader.ts';
import type { MarketPlot } from './market-plot.ts';
import { savedPicture } from './saved-picture.ts';
import { heatMapPath, laddersPath } from './server-source.ts';
import { ToolButton } from './tool-button.tsx';
import { linkSearch } from './view-address.ts';
import { outcomesOf } from './view-choices.ts';

interface ShareContent extends MarketContent {
  /** Undefined: there is no picture. */
  readonly plot: MarketPlot | undefined;
}

/** The files of a whole recording. */
const FORMATS = [
  ['segments', 'recording'],
  ['csv', 'CSV'],
  ['parquet', 'Parquet'],
] as const;

/** The link of what is shown, and a menu with its commands and files: it opens, closes and gets the focus without a script. */
export function Share({ explorer, shown, plot }: ShareContent) {
  const message = useSignal('');
  const copy = async (text: string) => {
    message.value = '';
    message.value = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => `Not copied: ${text}`,
    );
  };
  const { market, state } = shown;
  const { needsKey } = explorer.connection;
  const address = () => `${location.origin}${location.pathname}${linkSearch(state.link)}`;
  const curlOf = (path: string) => curlCommand(location.origin, path, needsKey);
  const outcomes = outcomesOf(state.outcome.value);
  const heatMaps = outcomes.flatMap((outcome) => shownHeatMap(explorer, shown, outcome) ?? []);
  const hasBooks = heatMaps.length === outcomes.length;
  const saveData = () => {
    const { conditionId, slug, symbol, timeframe, clobTokenIds } = market;
    const data = outcomes.map((outcome, nth) => {
      const assetId = clobTokenIds[outcome === 'up' ? 0 : 1]!;
      const { heatMap, hasTrades } = heatMaps[nth]!;
      return heatMapResource(heatMap, { assetId, conditionId, slug, symbol, outcome, timeframe }, hasTrades);
    });
    const text = JSON.stringify({ data: data.length === 1 ? data[0] : data });
    download(`${market.slug}-heat-map.json`, new Blob([text], { type: 'application/json' }));
  };
  const saveRecording = async (format: (typeof FORMATS)[number][0]) => {
    message.value = 'Loading …';
    const file = await explorer.recording(format);
    message.value = '';
    if (file !== undefined) download(`${market.slug}.${format}`, file);
  };
  // Without books there is no heat map and no ladder to save; quotes and prices may still be recorded.
  const isEmpty = shown.coverage !== undefined && !explorer.hasBooks.value;
  return (
    <div class="row share">
      <output class="quiet">{message.value}</output>
      <ToolButton onClick={() => void copy(address())}>Copy link</ToolButton>
      <button class="button small" type="button" popovertarget="export">
        Export
      </button>
      <div id="export" popover>
        {!isEmpty && (
          <>
            <ToolButton
              onClick={() =>
                void savedPicture(plot!, explorer, shown).then((png) => download(`${market.slug}.png`, png))
              }
            >
              Save picture
            </ToolButton>
            <ToolButton isDisabled={!hasBooks} onClick={saveData}>
              Save data
            </ToolButton>
            <ToolButton onClick={() => void copy(shownRequests(explorer, shown).heatMaps.map(curlOf).join('\n'))}>
              Copy heat map as curl
            </ToolButton>
            <ToolButton onClick={() => void copy(curlOf(shownRequests(explorer, shown).ladders))}>
              Copy ladder as curl
            </ToolButton>
          </>
        )}
        {explorer.connection.grants('export') &&
          FORMATS.map(([format, name]) => (
            <ToolButton key={format} onClick={() => void saveRecording(format)}>
              {`Save ${name}`}
            </ToolButton>
          ))}
      </div>
    </div>
  );
}

/** A request as a command. The key is a variable of the shell: the page never shows one. */
function curlCommand(origin: string, path: string, needsKey: boolean): string {
  const header = needsKey ? `-H "Authorization: Bearer $KEY" ` : '';
  return `curl -s ${header}'${origin}${path}'`;
}

/** Saves a file that the page made. */
function download(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The requests of what is shown: their paths, with the prefix of the replay. */
function shownRequests(
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

/** The heat map of the window, with its trades if they are drawn; undefined until it is loaded. `hasTrades`: true if the trades of its columns are known. */
function shownHeatMap(
  { connection, loader, trades, isLocal }: Explorer,
  { state }: ShownMarket,
  outcome: Outcome,
): { readonly heatMap: HeatMap; readonly hasTrades: boolean } | undefined {
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
