import { describe, expect, test } from 'bun:test';
import { timeZone } from '../../src/domain/time-zone.ts';

const at = (zone: string, local: string) =>
  timeZone(zone)!
    .instantsAt(Date.parse(`${local}Z`))
    .map((instantMs) => new Date(instantMs).toISOString().replace('.000Z', 'Z'));

describe('the instants of a local time', () => {
  test.each([
    ['UTC', '2026-04-16T07:10:04', ['2026-04-16T07:10:04Z']],
    ['+05:30', '2026-04-16T07:10:00', ['2026-04-16T01:40:00Z']],
    ['-0330', '2026-04-16T07:10:00', ['2026-04-16T10:40:00Z']],
    ['Asia/Kolkata', '2026-04-16T07:10:00', ['2026-04-16T01:40:00Z']],
    ['America/New_York', '2026-07-01T12:00:00', ['2026-07-01T16:00:00Z']],
    ['America/New_York', '2026-12-01T12:00:00', ['2026-12-01T17:00:00Z']],
    ['America/New_York', '2026-03-08T01:59:59', ['2026-03-08T06:59:59Z']],
    ['America/New_York', '2026-03-08T02:30:00', []],
    ['America/New_York', '2026-03-08T03:00:00', ['2026-03-08T07:00:00Z']],
    ['America/New_York', '2026-11-01T01:30:00', ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z']],
    ['America/New_York', '2026-11-01T02:00:00', ['2026-11-01T07:00:00Z']],
    // Its clocks change by half an hour.
    ['Australia/Lord_Howe', '2026-04-05T01:45:00', ['2026-04-04T14:45:00Z', '2026-04-04T15:15:00Z']],
  ])('in %s, %s', (zone, local, instants) => {
    expect(at(zone, local)).toEqual(instants);
  });

  test('has the milliseconds of the local time', () => {
    expect(timeZone('Europe/London')!.instantsAt(Date.parse('2026-01-01T00:00:00.123Z'))).toEqual([
      Date.parse('2026-01-01T00:00:00.123Z'),
    ]);
  });

  test('is found in every hour of a year, as the clock of the zone shows it', () => {
    const shown = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'America/New_York',
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const zone = timeZone('America/New_York')!;
    for (let instantMs = Date.UTC(2026, 0, 1); instantMs < Date.UTC(2027, 0, 1); instantMs += 3_600_000) {
      const localMs = Date.parse(`${shown.format(instantMs).replace(' ', 'T')}Z`);
      expect(zone.instantsAt(localMs)).toContain(instantMs);
    }
  });
});

test.each(['', 'Mars/Base', '+24:00', '+01:60', '2'])('%j is not a time zone', (name) => {
  expect(timeZone(name)).toBeUndefined();
});
