import { Elysia } from 'elysia';
import { hashOf, StaticFile } from '../response/static-file.ts';
import { builtAsset } from './built-asset.ts' with { type: 'macro' };
import type { BuiltAsset } from './built-asset.ts';

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  js: 'text/javascript',
  svg: 'image/svg+xml',
};

export const STYLE: BuiltAsset = builtAsset('http/pages/style.css');
/** For the reference page. */
export const FRAME_STYLE: BuiltAsset = builtAsset('http/pages/frame.css');
export const LOGO: BuiltAsset = builtAsset('http/pages/logo.svg');
/** Shows the buttons that copy. */
export const COPY_SCRIPT: BuiltAsset = builtAsset('web/browser/copy.ts');
/** Moves the clocks of the page of a process that replays. */
export const REPLAY_SCRIPT: BuiltAsset = builtAsset('web/browser/replay-home.ts');

export function assetPath({ name }: BuiltAsset): string {
  return `/assets/${name}`;
}

/** Files that pages load. Their names change with their content, so browsers never ask for them again. */
export function assetsController(assets: readonly BuiltAsset[]) {
  const controller = new Elysia({ name: 'assets', seed: assets.map(({ name }) => name), detail: { hide: true } });
  for (const asset of assets) {
    const type = TYPES[asset.name.split('.').at(-1)!]!;
    const file = new StaticFile(type, new Blob([asset.text]), hashOf(asset.text));
    controller.get(assetPath(asset), ({ request, set }) => file.answer(request, set));
  }
  return controller;
}
