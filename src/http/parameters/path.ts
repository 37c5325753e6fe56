import { parseInstant } from '../../domain/instant.ts';
import { Slug } from '../../domain/market.ts';
import { PAGE_NAMES } from '../../manual/manual.ts';
import { INSTANT_PATTERN } from './instant-pattern.ts';
import { anyText, parameter } from './parameter.ts';
import { refusalOfInstant, TIME_FORMATS } from './query.ts';

/** Every path parameter, by name. A key without the grant of the coin must not learn from a 400 that a name cannot exist. */
export const PATH = {
  coin: parameter(anyText('^[A-Za-z0-9]{1,16}$'), 'Coin code, or a name like bitcoin. Case is ignored.'),
  conditionId: parameter(anyText(Slug.pattern ?? ''), 'A market’s conditionId or slug. Case is ignored.'),
  ts: parameter(
    // In a path an instant is always text.
    { read: parseInstant, refusal: refusalOfInstant, schema: { type: 'string', pattern: INSTANT_PATTERN } },
    `The instant: ${TIME_FORMATS}.`,
  ),
  page: parameter(
    anyText(`^(manual|${PAGE_NAMES.join('|')})(\\.md)?$`),
    'The name of a page, or manual for the list of pages. With .md at the end the page is Markdown.',
    { example: 'replay' },
  ),
  tierId: parameter(anyText('^[^/]{1,100}$'), 'Id of the tier.', { example: 'pro' }),
  address: parameter(anyText('^0x[0-9A-Fa-f]{40}$'), 'The address of an account. Case is ignored.', {
    example: `0x${'ab'.repeat(20)}`,
  }),
  replay: parameter(anyText('^[0-9a-f]{12}$'), 'The id of a replay.', { example: '0a1b2c3d4e5f' }),
} as const;
