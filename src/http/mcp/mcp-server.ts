import { Server } from '@modelcontextprotocol/server';
import type { Fields } from '../../record/fields.ts';
import { causeOf } from '../plugins/errors.ts';
import { TOOLS } from './tools.ts';
import { Refusal, type V1Service } from './v1-service.ts';

const INSTRUCTIONS = `Recorded order books of short-horizon up-or-down prediction markets: does the price of a coin end a window of 5m, 15m, 1h, 4h or 24h higher or lower than it began? Begin with find_markets. A market has the outcomes up and down, each with a book. Prices are between 0 and 1, sizes are shares, times are UTC; values are as recorded, never rounded. Read the coverage before you conclude anything from missing data. With asOf nothing later is seen.`;
/** The text counts as a part of a message, in which quotes are escaped. */
const ANSWER_BYTES_MAX = 14_000;
/** Lists are cut to this length at first, and then until the answer fits. */
const ITEMS_MAX = 500;

/**
 * A server of the tools, for one connection or one request. Load this file late: the library is larger than all else that starts.
 * `logError`: gets a line about a defect.
 */
export function mcpServer(service: V1Service, version: string, logError: (line: string) => void): Server {
  const server = new Server({ name: 'bookreel', version }, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler('tools/list', () => ({
    tools: TOOLS.map(({ answer: _, ...tool }) => {
      return { ...tool, annotations: { readOnlyHint: tool.name !== 'replay_create', destructiveHint: false } };
    }),
  }));
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: given = {} } }) => {
    try {
      return { content: [{ type: 'text', text: fitted(await answerOf(service, name, given)) }] };
    } catch (error) {
      if (!(error instanceof Refusal)) logError(`the tool ${name} failed: ${causeOf(error)}`);
      const text = error instanceof Refusal ? error.message : 'something went wrong here: tell the operator about it';
      return { content: [{ type: 'text', text }], isError: true };
    }
  });
  return server;
}

async function answerOf(service: V1Service, name: string, given: Fields): Promise<Fields> {
  const tool = TOOLS.find((each) => each.name === name);
  if (tool === undefined)
    throw new Refusal(`there is no such tool: the tools are ${TOOLS.map((each) => each.name).join(', ')}`);
  const { properties = {}, required = [] } = tool.inputSchema;
  const missing = required.find((each) => given[each] === undefined);
  const unknown = Object.keys(given).find((each) => !Object.hasOwn(properties, each));
  const unreadable = Object.keys(given).find((each) => !isReadable(given[each]));
  if (missing === undefined && unknown === undefined) {
    if (unreadable === undefined) return await tool.answer(service, given);
    throw new Refusal(`${unreadable} cannot be read: write it as text, a number, or true or false`);
  }
  const what = missing === undefined ? `${unknown?.slice(0, 40)} is not an argument` : `${missing} is missing`;
  throw new Refusal(`${what}: ${name} takes ${Object.keys(properties).join(', ')}`);
}

/** False for an argument that cannot be a part of a URL, such as half of a surrogate pair, or lists in lists without end. */
function isReadable(value: unknown): boolean {
  try {
    encodeURIComponent(String(value));
    return true;
  } catch {
    // TypeError, URIError or RangeError.
    return false;
  }
}

/** An answer as JSON. If it is too long, the ends of long lists are left out, and `leftOut` has their numbers. Throws Refusal. */
function fitted(answer: Fields): string {
  for (let most = ITEMS_MAX; ; most = Math.floor(most * 0.9)) {
    const leftOut: Record<string, number> = {};
    const shorter = JSON.stringify(answer, (name, value: unknown) => {
      if (!Array.isArray(value) || value.length <= most) return value;
      leftOut[name] = value.length - most;
      return value.slice(0, most);
    });
    const isWhole = Object.keys(leftOut).length === 0;
    const text = isWhole ? shorter : `{"leftOut":${JSON.stringify(leftOut)},${shorter.slice(1)}`;
    if (Buffer.byteLength(JSON.stringify(text)) <= ANSWER_BYTES_MAX) return text;
    if (most === 0) throw new Refusal('the answer is too long: are the arguments as they should be?');
  }
}
