import { expect, test } from 'bun:test';
import { userRequest } from '../../src/venue/user-request-parser.ts';

const AUTH = { apiKey: 'key', secret: 'secret', passphrase: 'words' };
const NOTHING = { apiKey: '', secret: '', passphrase: '' };

test.each([
  '',
  ' ',
  '{',
  'null',
  '1',
  '"user"',
  '[]',
  '[{"type":"user"}]',
  '{}',
  '{"type":null}',
  '{"type":"market"}',
  '{"operation":"end"}',
  'ping',
])('A frame of the user channel that is no request is not answered: %s', (text) => {
  expect(userRequest(text)).toBeUndefined();
});

test.each([
  ['PING', { kind: 'ping' }],
  [
    { type: 'USER', auth: AUTH, markets: ['0xAB', 7, null] },
    { kind: 'open', ...AUTH, markets: ['0xab'] },
  ],
  [{ type: 'user' }, { kind: 'open', ...NOTHING, markets: [] }],
  [
    { type: 'user', auth: [], markets: {} },
    { kind: 'open', ...NOTHING, markets: [] },
  ],
  [
    { type: 'user', auth: { ...AUTH, secret: 5 } },
    { kind: 'open', ...AUTH, secret: '', markets: [] },
  ],
  [
    { operation: 'subscribe', markets: ['0xCD'] },
    { kind: 'subscribe', markets: ['0xcd'] },
  ],
  [
    { type: 'user', operation: 'unsubscribe' },
    { kind: 'unsubscribe', markets: [] },
  ],
])('The user channel reads the request %j.', (frame, wanted) => {
  expect(userRequest(typeof frame === 'string' ? frame : JSON.stringify(frame))).toEqual(wanted as never);
});
