import accounts from './accounts.md' with { type: 'text' };
import administration from './administration.md' with { type: 'text' };
import agents from './agents.md' with { type: 'text' };
import backtest from './backtest.md' with { type: 'text' };
import notebookFile from './best-bid-and-ask.ipynb' with { type: 'file' };
import notebookChart from './best-bid-and-ask.svg' with { type: 'file' };
import bots from './bots.md' with { type: 'text' };
import configuration from './configuration.md' with { type: 'text' };
import accountsPicture from './dashboard-accounts.png' with { type: 'file' };
import keysPicture from './dashboard-keys.png' with { type: 'file' };
import usagePicture from './dashboard-usage.png' with { type: 'file' };
import install from './install.md' with { type: 'text' };
import interfacePage from './interface.md' with { type: 'text' };
import limits from './limits.md' with { type: 'text' };
import mappings from './mappings.md' with { type: 'text' };
import nodes from './nodes.md' with { type: 'text' };
import notebooks from './notebooks.md' with { type: 'text' };
import operations from './operations.md' with { type: 'text' };
import paper from './paper.md' with { type: 'text' };
import payments from './payments.md' with { type: 'text' };
import publicPage from './public.md' with { type: 'text' };
import recording from './recording.md' with { type: 'text' };
import recordings from './recordings.md' with { type: 'text' };
import replay from './replay.md' with { type: 'text' };
import sdk from './sdk.md' with { type: 'text' };
import segments from './segments.md' with { type: 'text' };
import signIn from './sign-in.md' with { type: 'text' };
import venue from './venue.md' with { type: 'text' };
import viewer from './viewer.md' with { type: 'text' };

/** A page of the manual, as Markdown. Links to other pages are relative: `replay.md#the-clock`. */
export interface ManualPage {
  readonly name: string;
  readonly title: string;
  /** One sentence. */
  readonly summary: string;
  readonly audience: Audience;
  readonly text: string;
}

export type Audience = keyof typeof TEXTS;

/** In the order of a first reading: for those who use a service or a replay, and for those who run one. */
const TEXTS = {
  customers: {
    interface: interfacePage,
    sdk,
    agents,
    viewer,
    replay,
    paper,
    backtest,
    notebooks,
    venue,
    bots,
    segments,
    limits,
  },
  operators: {
    install,
    recording,
    recordings,
    mappings,
    configuration,
    accounts,
    'sign-in': signIn,
    administration,
    payments,
    public: publicPage,
    operations,
    nodes,
  },
};

/** The headings of the two lists of pages, in their order. */
export const AUDIENCES: readonly (readonly [Audience, string])[] = [
  ['customers', 'For customers'],
  ['operators', 'For operators'],
];

/**
 * The paths of the other files in the executable, by the name that the pages use. `make screenshots` takes the pictures of pages, `make notebook`
 * runs the notebook.
 */
export const FILES = {
  'best-bid-and-ask.ipynb': notebookFile,
  'best-bid-and-ask.svg': notebookChart,
  'dashboard-accounts.png': accountsPicture,
  'dashboard-keys.png': keysPicture,
  'dashboard-usage.png': usagePicture,
};

export const PAGE_NAMES: readonly string[] = Object.values(TEXTS).flatMap((texts) => Object.keys(texts));

/** Markdown that only the program knows: each text replaces the line `{{name}}` of a page. */
export interface ManualInserts {
  /** The rows of the table of formats. */
  readonly formats: string;
  /** The rows of the table of mappings, and the text of each mapping. */
  readonly mappings: string;
  readonly shipped: string;
}

/** All pages. Each begins with its title as a heading and its summary as a paragraph of one line. */
export function manualPages(inserts: ManualInserts): readonly ManualPage[] {
  return AUDIENCES.flatMap(([audience]) =>
    Object.entries(TEXTS[audience]).map(([name, source]) => {
      const [heading = '', , summary = ''] = source.split('\n', 3);
      return { name, title: heading.replace('# ', ''), summary, audience, text: withInserts(source, inserts) };
    }),
  );
}

function withInserts(source: string, inserts: ManualInserts): string {
  return Object.entries(inserts).reduce((text, [name, insert]) => text.replace(`{{${name}}}`, () => insert), source);
}
