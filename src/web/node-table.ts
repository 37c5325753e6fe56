import { Value } from 'typebox/value';
import { lengthText } from '../domain/duration.ts';
import type { InstantMs } from '../domain/instant.ts';
import { NodeStatus, type SeenNode } from '../domain/node-status.ts';
import { parsedJson } from '../record/fields.ts';
import type { Node } from '../store/nodes.ts';
import type { Column } from './table.tsx';
import { bytesText, numberText } from './texts.ts';

/** The nodes whose reports this version understands. */
export function seenNodes(nodes: readonly Node[]): SeenNode[] {
  return nodes.flatMap(({ seenMs, status }) => {
    const found = parsedJson(status);
    return Value.Check(NodeStatus, found) ? [{ ...found, seenMs }] : [];
  });
}

export const NODE_COLUMNS = (nowMs: InstantMs): readonly Column<SeenNode>[] => [
  { heading: 'Node', isRowHeading: true, cell: ({ host, version }) => `${host} (${version})` },
  { heading: 'Reported', class: 'nowrap', cell: ({ seenMs }) => `${lengthText(Math.max(0, nowMs - seenMs))} ago` },
  { heading: 'Catalog', class: 'number', cell: ({ catalog }) => numberText(catalog.number) },
  {
    heading: 'End seen',
    class: 'nowrap',
    cell: ({ catalog: { ageMs } }) => (ageMs === null ? 'not yet' : `${lengthText(ageMs)} before`),
  },
  {
    heading: 'Cache',
    class: 'nowrap',
    cell: ({ cache }) =>
      `${bytesText(cache.bytes)} of ${bytesText(cache.bytesMax)}, ${numberText(cache.files)} markets`,
  },
  { heading: 'Hits', class: 'number', cell: ({ cache: { hits, misses } }) => hitsText(hits, misses) },
];

function hitsText(hits: number, misses: number): string {
  return hits === 0 ? '' : `${((100 * Math.max(0, hits - misses)) / hits).toFixed(1)} %`;
}
