import { parseInstant } from '../../domain/instant.ts';
import { Slug } from '../../domain/market.ts';
import { INSTANT_PATTERN } from './instant-pattern.ts';
import { parameter } from './parameter.ts';
import { TIME_FORMATS } from './query.ts';

/** Any text: a name that nothing can have is not found, which only a key that may see the coin learns. */
const name = { read: (text: string) => text, refusal: '' };

/** Every path parameter, by name. */
export const PATH = {
  coin: parameter(name, {
    description: 'Coin code, compared in lower case.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9]{1,16}$' },
  }),
  conditionId: parameter(name, {
    description: 'A market’s conditionId or slug, neither with regard to case.',
    schema: { type: 'string', pattern: Slug.pattern ?? '' },
  }),
  ts: parameter(
    { read: parseInstant, refusal: `must be ${TIME_FORMATS}` },
    // A path has text only.
    { description: `The instant: ${TIME_FORMATS}.`, schema: { type: 'string', pattern: INSTANT_PATTERN } },
  ),
  page: parameter(name, {
    description: 'The name of a page, or manual for the list of pages; with .md after it the page is Markdown.',
    schema: { type: 'string', pattern: '^[a-z]+(\\.md)?$' },
    example: 'replay',
  }),
  replay: parameter(name, {
    description: 'The id of a replay.',
    schema: { type: 'string', pattern: '^[0-9a-f]{12}$' },
    example: '0a1b2c3d4e5f',
  }),
} as const;
