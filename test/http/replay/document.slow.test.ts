import { expect, test } from 'bun:test';
import { FormatRegistry, Type } from 'typebox';
import { Value } from 'typebox/value';
import { openApiDocument } from '../../../src/cli/openapi.ts';
import { ReplayResource } from '../../../src/http/replay/replay-resource.ts';
import { importRecords } from '../../support/archive.ts';
import { START_MS, sampleMarket } from '../../support/sample-records.ts';
import { startReplaying } from './replaying.ts';

// TypeBox knows no formats of its own.
FormatRegistry.Set('date-time', (text) => !Number.isNaN(Date.parse(text)));

const REPLAYS = '/v1/replays';
const start = () => startReplaying((archive) => importRecords(archive, [sampleMarket()]));
const pathsOf = (document: unknown) =>
  (document as { paths: Record<string, Record<string, { responses: object }>> }).paths;

test('a process that replays serves its own document: that of a service, and the replays', async () => {
  await using replaying = await start();
  const served = (await (await replaying.get('/openapi.json')).json()) as unknown;
  expect(served).toEqual(await openApiDocument('0.0.0-test', true));
  const [own, service] = [
    Object.keys(pathsOf(served)),
    Object.keys(pathsOf(await openApiDocument('0.0.0-test', false))),
  ];
  // A process that replays has no usage.
  const shared = service.filter((path) => !/^\/v1\/(?:account|billing\/(?!tiers$))/.test(path));
  const accounts = ['', '/{address}', '/{address}/events', '/{address}/merge'].map(
    (end) => `${REPLAYS}/{replay}/accounts${end}`,
  );
  expect(own.sort()).toEqual([...shared, REPLAYS, `${REPLAYS}/{replay}`, ...accounts].sort());
  const text = await (await replaying.get('/llms.txt')).text();
  for (const [path, item] of Object.entries(pathsOf(served))) {
    if (!path.startsWith('/v1/')) continue;
    for (const method of Object.keys(item)) expect(text).toContain(`- \`${method.toUpperCase()} ${path}`);
  }
  expect(text).toContain('Authentication: none on loopback; on other addresses every path below');
});

test('its operations are the methods of its paths, and their answers match its schemas', async () => {
  await using replaying = await start();
  const paths = pathsOf(await openApiDocument('0.0.0-test', true));
  const created = await replaying.ask('POST', REPLAYS, { paused: true });
  const { data } = (await created.clone().json()) as { data: { id: string } };
  const own = `${REPLAYS}/${data.id}`;
  for (const [described, path] of [
    [REPLAYS, REPLAYS],
    [`${REPLAYS}/{replay}`, own],
  ] as const) {
    const allowed = (await replaying.ask('OPTIONS', path)).headers.get('allow')!.split(', ');
    const methods = Object.keys(paths[described]!).map((method) => method.toUpperCase());
    expect(allowed.filter((method) => method !== 'HEAD' && method !== 'OPTIONS').sort()).toEqual(methods.sort());
  }
  const One = Type.Object({ data: ReplayResource }, { additionalProperties: false });
  const Many = Type.Object({ data: Type.Array(ReplayResource) }, { additionalProperties: false });
  const closed = { ...ReplayResource, additionalProperties: false };
  for (const [described, method, path, body, schema] of [
    [REPLAYS, 'GET', REPLAYS, undefined, Many],
    [REPLAYS, 'POST', REPLAYS, { speed: 'max', rebase: 'now' }, One],
    [`${REPLAYS}/{replay}`, 'GET', own, undefined, One],
    [`${REPLAYS}/{replay}`, 'PATCH', own, { now: START_MS + 1000, step: true }, One],
    [`${REPLAYS}/{replay}`, 'DELETE', own, undefined, undefined],
    [`${REPLAYS}/{replay}`, 'GET', own, undefined, undefined],
    [REPLAYS, 'POST', REPLAYS, { speed: 0 }, undefined],
  ] as const) {
    const response = await replaying.ask(method, path, body);
    expect(Object.keys(paths[described]![method.toLowerCase()]!.responses)).toContain(String(response.status));
    if (schema === undefined) continue;
    const answer = (await response.json()) as { data: object | object[] };
    expect([...Value.Errors(schema, answer)]).toEqual([]);
    for (const resource of [answer.data].flat()) expect(Value.Check(closed, resource)).toBe(true);
  }
});
