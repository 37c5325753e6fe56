import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/archive.ts';
import { finished } from '../support/executable.ts';

const RULES = join(import.meta.dir, '../../src/monitoring/alerts.yml');
const INSTANCE = 'job="bookreel", instance="i"';

interface Case {
  /** Minutes between two values of a series, and between two evaluations of the rules; default: 1. */
  readonly step?: number;
  /** Each as promtool takes it: a value at the start, a change a step, and the number of steps. */
  readonly series: Readonly<Record<string, string>>;
  /** Minutes after the start, with the alerts that are active then, of those whose names begin so. */
  readonly active: readonly (readonly [number, readonly string[]])[];
}

const SUCCESS = 'bookreel_backup_last_success_timestamp_seconds';
const FAILURE = 'bookreel_backup_last_failure_timestamp_seconds';
const DAY = 24 * 60;

const CASES: Readonly<Record<string, Case>> = {
  'a backup that failed is reported at once, and no more after one that succeeded': {
    series: { [SUCCESS]: '3600x120 10000x60', [FAILURE]: '0x60 7200x120' },
    active: [
      [59, []],
      [62, ['BookreelBackupFailed']],
      [122, []],
    ],
  },
  'a backup that is missing is reported after two days, and so is one that never was made': {
    step: 4,
    series: { [SUCCESS]: `0x${(3 * DAY) / 4}`, [FAILURE]: `0x${(3 * DAY) / 4}` },
    active: [
      [2 * DAY, []],
      [2 * DAY + 4, ['BookreelBackupOld']],
    ],
  },
  'mails that fail are reported if none is sent, however few they are': {
    series: {
      'bookreel_mails_total{result="failed"}': '0x60 4x200',
      'bookreel_mails_total{result="sent"}': '0x150 1x110',
      'bookreel_mails_total{result="expired"}': '0x80 1x200',
    },
    active: [
      [60, []],
      [70, ['BookreelMailsFail']],
      [85, ['BookreelMailsFail', 'BookreelMailsLost']],
      [200, []],
    ],
  },
  'mails that fail while others are sent, as those of a server that asks for a second try, are no alert': {
    series: { 'bookreel_mails_total{result="failed"}': '0+1x60', 'bookreel_mails_total{result="sent"}': '0+1x60' },
    active: [[60, []]],
  },
  'limits that are counted without Redis are reported after two minutes': {
    series: { bookreel_rate_windows_away: '0x10 2x10 0x10' },
    active: [
      [12, []],
      [14, ['BookreelRateWindowsAway']],
      [22, []],
    ],
  },
  'a recorder that stops is reported after a minute, and no more when it runs': {
    series: { bookreel_recorder_up: '1x10 0x10 1x10' },
    active: [
      [10, []],
      [13, ['BookreelRecorderDown']],
      [24, []],
    ],
  },
  'closed sockets of the recorder are reported when all of them are': {
    series: {
      'bookreel_recorder_socket_open{socket="1"}': '1x5 0x30',
      'bookreel_recorder_socket_open{socket="2"}': '1x15 0x20',
    },
    active: [
      [15, []],
      [18, ['BookreelRecorderDisconnected']],
    ],
  },
  'a missed window is reported at once, and more than 10 gaps in an hour': {
    series: {
      bookreel_recorder_windows_missed_total: '0x60 1x60',
      bookreel_recorder_gaps_total: '0x5 10x50 13x80',
    },
    active: [
      [50, []],
      [62, ['BookreelRecorderGaps', 'BookreelRecorderWindowMissed']],
      [118, []],
    ],
  },
  'failed hashes are reported if they are more than 1 % in an hour': {
    series: {
      'bookreel_recorder_hashes_total{result="matched"}': '0+100x180',
      'bookreel_recorder_hashes_total{result="failed"}': '0+1x60 63+3x60 243x60',
    },
    active: [
      [60, []],
      [110, ['BookreelRecorderHashes']],
      [179, []],
    ],
  },
  'an archive is reported whose changes are not published for 15 minutes': {
    series: { bookreel_unpublished_markets: '0x5 3x10 0 2x30' },
    active: [
      [20, []],
      [31, []],
      [33, ['BookreelPublisherBehind']],
    ],
  },
  'a node is reported that does not follow the catalog or home, or cannot fetch markets': {
    series: {
      bookreel_node_catalog_age_seconds: '1x10 61x10 1x40',
      bookreel_node_home_age_seconds: '0.2x30 11x10 0.3x20',
      bookreel_node_storage_up: '1x45 0x5 1x10',
    },
    active: [
      [10, []],
      [13, ['BookreelNodeBehind']],
      [25, []],
      [32, ['BookreelNodeWithoutHome']],
      [48, ['BookreelNodeWithoutStorage']],
      [55, []],
    ],
  },
  'the lag, the clock and the disk of a recorder are reported after five minutes beyond their bounds': {
    series: {
      bookreel_recorder_lag_seconds: '60x10 61x30',
      bookreel_recorder_clock_offset_seconds: '-0.02x10 -0.021x10 2x10 2.1x10',
      bookreel_recorder_disk_free_bytes: '3e9x20 1e9x20',
      bookreel_recorder_disk_floor_bytes: '64e6x40',
    },
    active: [
      [10, []],
      [17, ['BookreelRecorderClock', 'BookreelRecorderLag']],
      [30, ['BookreelRecorderDisk', 'BookreelRecorderLag']],
      [40, ['BookreelRecorderClock', 'BookreelRecorderDisk', 'BookreelRecorderLag']],
    ],
  },
};

test.skipIf(Bun.which('promtool') === null).each(Object.entries(CASES))(
  '%s (needs promtool)',
  async (_, { step = 1, series, active }) => {
    using directory = temporaryDirectory();
    const prefix = /^Bookreel(?:Backup|Mail|Node|Recorder)/;
    const names = (await Bun.file(RULES).text()).match(/(?<=alert: )\w+/g)!.filter((name) => prefix.test(name));
    const test = {
      rule_files: [RULES],
      evaluation_interval: `${step}m`,
      tests: [
        {
          interval: `${step}m`,
          input_series: Object.entries(series).map(([name, values]) => ({
            series: name.includes('{') ? name.replace('{', `{${INSTANCE}, `) : `${name}{${INSTANCE}}`,
            values,
          })),
          // Whether an alert is active, not with which texts.
          promql_expr_test: active.flatMap(([minutes, expected]) =>
            names.map((name) => ({
              expr: `count by (alertname) (ALERTS{alertstate="firing", alertname="${name}"})`,
              eval_time: `${minutes}m`,
              exp_samples: expected.includes(name) ? [{ labels: `{alertname="${name}"}`, value: 1 }] : [],
            })),
          ),
        },
      ],
    };
    const path = join(directory.path, 'test.yml');
    writeFileSync(path, JSON.stringify(test));
    const { code, stdout, stderr } = await finished(['promtool', 'test', 'rules', path], {
      env: { PATH: process.env.PATH ?? '' },
    });
    expect({ code, said: code === 0 ? '' : `${stdout}${stderr}` }).toEqual({ code: 0, said: '' });
  },
);
