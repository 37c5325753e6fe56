import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Explorer, MarketContent, ShownMarket } from './explorer.ts';
import { heatMapWindow } from './heat-map-loader.ts';
import { exportedRecording } from './local-recording.ts';
import type { MarketPlot } from './market-plot.ts';
import { savedPicture } from './saved-picture.ts';
import { heatMapPath, laddersPath } from './server-source.ts';
import { ToolButton } from './tool-button.tsx';
import { withReplay } from './view-address.ts';
import { outcomesOf } from './view-choices.ts';
import { searchOf } from './view-link.ts';

interface ShareContent extends MarketContent {
  /** Undefined: there is no picture. */
  readonly plot: MarketPlot | undefined;
}

/** The files of a whole recording: their endings, and what is special about each. */
const FORMATS = [
  ['csv', 'CSV', 'table'],
  ['parquet', 'Parquet', 'table'],
  ['segments', 'segments', 'to import'],
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
  const { needsKey, settings } = explorer.connection;
  const address = () => `${location.origin}${location.pathname}${withReplay(searchOf(state.link))}`;
  // The key is a variable of the shell: the page never shows one.
  const header = needsKey ? ' -H "Authorization: Bearer $BOOKREEL_KEY"' : '';
  const curlOf = (path: string) => `curl -s${header} '${location.origin}${settings.prefix}${path}'`;
  const save = async (name: string, load: (signal: AbortSignal) => Promise<Blob>) => {
    message.value = 'Loading …';
    const file = await explorer.attempt(load);
    message.value = '';
    if (file !== undefined) download(`${market.slug}${name}`, file);
  };
  const saveData = async (signal: AbortSignal) => {
    const { heatMaps } = shownRequests(explorer, shown);
    const answers = await Promise.all(
      heatMaps.map((path) => explorer.connection.get<{ data: object }>(path, { signal })),
    );
    const data = answers.map((answer) => answer.data);
    return new Blob([JSON.stringify({ data: data[1] ? data : data[0] })]);
  };
  const exported = (format: (typeof FORMATS)[number][0]) => async (signal: AbortSignal) =>
    await (await exportedRecording(explorer.connection, explorer.marketPath.value!, format, signal)).blob();
  return (
    <div class="row share">
      <output class="quiet">{message.value}</output>
      <ToolButton onClick={() => void copy(address())}>Copy link</ToolButton>
      <button class="button small" type="button" popovertarget="export" hidden={!explorer.neighbours.value.hasRecords}>
        Export
      </button>
      <div id="export" popover>
        {explorer.hasBooks.value && (
          <>
            <Exports title="Picture">
              <ToolButton
                onClick={() =>
                  void savedPicture(plot!, explorer, shown).then((png) => download(`${market.slug}.png`, png))
                }
              >
                Save picture <i>PNG</i>
              </ToolButton>
            </Exports>
            <Exports title="In view">
              <ToolButton onClick={() => void save('-heat-map.json', saveData)}>
                Save heat map <i>JSON</i>
              </ToolButton>
              <ToolButton onClick={() => void copy(shownRequests(explorer, shown).heatMaps.map(curlOf).join('\n'))}>
                Copy heat map as curl
              </ToolButton>
              <ToolButton onClick={() => void copy(curlOf(shownRequests(explorer, shown).ladders))}>
                Copy ladder as curl
              </ToolButton>
            </Exports>
          </>
        )}
        {explorer.connection.grants('export') && (
          <Exports title="Recording">
            {FORMATS.map(([format, name, hint]) => (
              <ToolButton key={format} onClick={() => void save(`.${format}`, exported(format))}>
                Save {name} <i>{hint}</i>
              </ToolButton>
            ))}
          </Exports>
        )}
      </div>
    </div>
  );
}

/** A group of the menu. */
function Exports({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
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

/** The paths of the requests of what is shown. */
function shownRequests(
  { marketPath, columns }: Explorer,
  { state }: ShownMarket,
): { readonly heatMaps: readonly string[]; readonly ladders: string } {
  const path = marketPath.value!;
  const [choice, time] = [state.outcome.value, state.time.value];
  return {
    heatMaps: outcomesOf(choice).map((outcome) => heatMapPath(path, heatMapWindow(outcome, time, columns.value))),
    ladders: laddersPath(path, { choice, atMs: state.atMs.value, depth: state.depth.value }),
  };
}
