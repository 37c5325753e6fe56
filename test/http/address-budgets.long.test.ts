import { describe, expect, test } from 'bun:test';
import { AddressBudgets } from '../../src/http/plugins/address-budgets.ts';
import { Cors } from '../../src/http/plugins/cors.ts';
import { parseIpNetwork } from '../../src/http/plugins/ip-address.ts';
import { startEdge } from './edge-service.ts';

const EPOCH_MS = 1_776_323_400_000;
const ATTACK_REQUESTS = 66_700;
/** Maximum number of windows for the clients of one family, and for its networks. */
const WINDOWS_MAX = 2 * 32_768;

const at = (ms: number) => ({ monotonicMs: 5_000 + ms, wallMs: EPOCH_MS + ms });
const hex = (value: number) => value.toString(16);

/** `address`: host of a network; `attacker`: addresses of other networks, as many as an attack needs. */
const FAMILIES = [
  {
    family: 'IPv4',
    address: (network: number, host: number) => `198.51.${network}.${host}`,
    attacker: (index: number) => `10.${index & 255}.${(index >> 8) & 255}.${index >> 16}`,
    hostsMax: 256,
  },
  {
    family: 'IPv6',
    address: (network: number, host: number) => `2a00:1:${hex(network)}:${hex(host)}::1`,
    attacker: (index: number) => `2001:${hex(index >> 16)}:${hex(index & 0xffff)}:${hex(index % 7)}::1`,
    hostsMax: 65_536,
  },
];

/** Charges requests within 4 seconds; returns the number of allowed ones. */
function attack(budgets: AddressBudgets, addressOf: (index: number) => string): number {
  let allowed = 0;
  for (let index = 0; index < ATTACK_REQUESTS; index += 1) {
    if (budgets.charge(addressOf(index), at((index * 4000) / ATTACK_REQUESTS)).allowed) allowed += 1;
  }
  return allowed;
}

/** Charges requests of one address in the middle of an attack; returns the number of allowed ones. */
function chargeTimes(budgets: AddressBudgets, address: string, times: number): number {
  let allowed = 0;
  for (let time = 0; time < times; time += 1) if (budgets.charge(address, at(2000)).allowed) allowed += 1;
  return allowed;
}

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['::1', '::'],
  ['unknown', 'unknown'],
])('%s and %s are one client', (a, b) => {
  const budgets = new AddressBudgets();
  budgets.charge(a, at(0));
  expect(budgets.charge(b, at(0))).toMatchObject({ limit: 600, remaining: 598, isNetwork: false });
});

test.each([
  ['192.0.2.1', '192.0.2.254'],
  ['2001:db8:1:2::1', '2001:db8:1:ffff::1'],
])('%s and %s are two clients of one network', (a, b) => {
  const budgets = new AddressBudgets();
  budgets.charge(a, at(0));
  expect(budgets.charge(b, at(0))).toMatchObject({ limit: 600, remaining: 599 });
  expect(budgets.size).toBe(3);
});

test.each([
  ['192.0.2.1', '192.0.3.1'],
  ['192.0.2.1', '193.0.2.1'],
  ['2001:db8:1:2::1', '2001:db8:2:2::1'],
  ['::1', '0:0:1::1'],
  ['192.0.2.1', '::1'],
])('%s and %s are clients of two networks', (a, b) => {
  const budgets = new AddressBudgets();
  budgets.charge(a, at(0));
  budgets.charge(b, at(0));
  expect(budgets.size).toBe(4);
});

test('a refused request counts neither for its address nor for its network', () => {
  const budgets = new AddressBudgets();
  const allowed = [1, 2, 3, 4, 5].map((host) => chargeTimes(budgets, `192.0.2.${host}`, 700));
  expect(allowed).toEqual([600, 600, 600, 600, 0]);
});

test('an address whose two limits are used up waits for the one that ends last', () => {
  const budgets = new AddressBudgets();
  for (const host of [1, 2, 3]) for (let time = 0; time < 600; time += 1) budgets.charge(`192.0.2.${host}`, at(0));
  for (let time = 0; time < 600; time += 1) budgets.charge('192.0.2.4', at(30_000));
  expect(budgets.peek('192.0.2.4', at(30_000))).toMatchObject({ isNetwork: false, retryAfterSeconds: 60 });
  expect(budgets.peek('192.0.2.1', at(30_000))).toMatchObject({ allowed: false, retryAfterSeconds: 30 });
  expect(budgets.peek('192.0.2.5', at(30_000))).toMatchObject({ isNetwork: true, retryAfterSeconds: 30 });
});

describe.each(FAMILIES)('66,700 requests of $family in 4 seconds', ({ address, attacker, hostsMax }) => {
  test('Without a key, one network (/24, IPv6: /48) is allowed 2,400 requests, and requests with a valid key are not affected.', () => {
    const budgets = new AddressBudgets();
    expect(attack(budgets, (index) => address(1, index % hostsMax))).toBe(2400);
    expect(budgets.size).toBe(Math.min(hostsMax, 2400) + 1);
    expect(budgets.charge(address(1, 7), at(4000))).toMatchObject({
      allowed: false,
      isNetwork: true,
      limit: 2400,
      remaining: 0,
      retryAfterSeconds: 56,
    });
    expect(budgets.charge(address(2, 1), at(4000))).toMatchObject({ allowed: true, limit: 600, remaining: 599 });
    expect(budgets.charge(address(1, 7), at(64_000))).toMatchObject({ allowed: true, remaining: 599 });
  });

  test('from a few networks never drop the counts of these networks', () => {
    const budgets = new AddressBudgets();
    const addressOf = (index: number) => address(index % 20, Math.floor(index / 20) % hostsMax);
    expect(attack(budgets, addressOf)).toBe(20 * 2400);
    expect(attack(budgets, addressOf)).toBe(0);
  });

  test('When too many addresses are counted, those with the fewest requests start again, and networks and preflights have tables of their own.', () => {
    const budgets = new AddressBudgets();
    chargeTimes(budgets, address(101, 1), 600);
    chargeTimes(budgets, address(102, 1), 100);
    for (const host of [1, 2, 3, 4]) chargeTimes(budgets, address(103, host), 600);
    for (let wave = 0; wave < 2; wave += 1) {
      expect(attack(budgets, attacker)).toBe(ATTACK_REQUESTS);
      expect(budgets.size).toBeLessThanOrEqual(WINDOWS_MAX);
      expect(budgets.charge(address(101, 1), at(4000))).toMatchObject({ allowed: false, isNetwork: false });
      expect(budgets.peek(address(102, 1), at(4000)).remaining).toBe(500);
      expect(budgets.charge(address(103, 5), at(4000))).toMatchObject({ allowed: false, isNetwork: true });
      expect(chargeTimes(budgets, address(wave, 1), 700)).toBe(600);
    }
  });

  test('leave the addresses of the other family alone', () => {
    const budgets = new AddressBudgets();
    const others = FAMILIES.map((family) => family.address(1, 1)).filter((other) => other !== address(1, 1));
    for (const other of others) budgets.charge(other, at(0));
    attack(budgets, attacker);
    for (const other of others) expect(budgets.charge(other, at(4000)).remaining).toBe(598);
  });
});

test('when a network is used up, only its requests without a key are refused', async () => {
  await using service = startEdge({ trustedProxies: [parseIpNetwork('127.0.0.0/8')!], cors: new Cors('*') });
  const ask = (address: string, init: RequestInit = {}) =>
    service.get('/v1/billing/tiers', {
      ...init,
      headers: { 'x-forwarded-for': address, ...(init.headers as Record<string, string>) },
    });
  for (let client = 0; client < 4; client += 1) {
    for (let i = 0; i < 600; i += 1) expect((await ask(`192.0.2.${client}`)).status).toBe(401);
  }
  const refused = await ask('192.0.2.77');
  expect(refused.status).toBe(429);
  expect(refused.headers.get('x-ratelimit-limit')).toBe('2400');
  const { detail } = (await refused.json()) as { detail: string };
  expect(detail).toMatch(
    /^requests without a valid key from one network \(\/24, IPv6: \/48\) are limited to 2400 per minute: try again in \d+ s$/,
  );
  expect((await ask('192.0.2.77', { headers: { authorization: `Bearer ${service.key}` } })).status).toBe(200);
  const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' };
  expect((await ask('192.0.2.77', { method: 'OPTIONS', headers: preflight })).status).toBe(204);
  expect((await ask('192.0.3.77')).status).toBe(401);
});
