import { render } from 'preact';
import type { ChartData } from '../usage/chart-data.ts';
import { UsageExplorer } from './usage-explorer.tsx';

const root = document.querySelector<HTMLElement>('#usage-chart');
// Without requests there is no chart.
if (root?.dataset.usage !== undefined) {
  render(<UsageExplorer data={JSON.parse(root.dataset.usage) as ChartData} />, root);
}
