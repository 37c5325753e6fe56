import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import {
  ALL_SETTINGS,
  keyOf,
  SETTINGS,
  type Setting,
  type SettingName,
  type SettingValues,
  variableOf,
} from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { type ConfigFile, readConfigFile, refusalOf } from './config-file.ts';
import { type Environment, unknownVariables } from './environment.ts';
import { withoutPasswords } from './terminal.ts';

/** The place where the value of a setting was given. */
export type Origin = 'flag' | 'variable' | 'file' | 'default';

export interface GivenSetting {
  readonly name: SettingName;
  readonly key: string;
  /** As a flag would have it. */
  readonly text: string;
  readonly origin: Origin;
  /** The flag, the variable or the path of the file; undefined for a default. */
  readonly from: string | undefined;
}

export interface GivenSettings {
  readonly settings: readonly GivenSetting[];
  /** One sentence for each file, key, variable or value that is refused. */
  readonly problems: readonly string[];
  /** The values of the settings, with the default for each that is refused. */
  readonly values: SettingValues;
}

/**
 * Adds a flag for every setting that the program does not have. Its value is the text as typed, for `givenSettings`. Its name is
 * the key of the configuration file: two commands have a --port.
 */
export function addEverySetting<Declared extends CommandUnknownOpts>(command: Declared): Declared {
  for (const [name, setting] of ALL_SETTINGS) {
    const argument = setting.flag.replace(/^\S+/, '');
    if (!OF_PROGRAM.includes(name)) command.addOption(new Option(`--${keyOf(name)}${argument}`, setting.about));
  }
  return command;
}

const OF_PROGRAM: readonly SettingName[] = ['data', 'config'];

/** All settings, with everything that is wrong in them. `command`: one that `addEverySetting` returned, parsed. `packaged`: see `applySettings`. */
export function givenSettings(
  command: CommandUnknownOpts,
  environment: Environment,
  packaged: string | undefined,
): GivenSettings {
  const flags = command.optsWithGlobals() as Readonly<Record<string, string | undefined>>;
  const isFlag = (name: SettingName) => command.getOptionValueSourceWithGlobals(name) === 'cli';
  const isGiven = (name: SettingName) => isFlag(name) || environment[variableOf(name)] !== undefined;
  // The parser makes an empty text of none.
  const named = isFlag('config') ? flags.config || SETTINGS.config.fallback : environment[variableOf('config')];
  const path = isGiven('config') || isGiven('data') ? named : packaged;
  const file = path === undefined || path === SETTINGS.config.fallback ? undefined : fileOrProblem(path);
  const problems = [...unknownVariables(environment), ...(file?.problems ?? [])];
  const refused = new Set<SettingName>();
  const settings = ALL_SETTINGS.map(([name, setting]): GivenSetting => {
    const key = keyOf(name);
    const origins: readonly (readonly [Origin, string, string | undefined])[] = [
      ['flag', `--${key}`, isFlag(name) ? (name === 'config' ? named : flags[name]) : undefined],
      ['variable', variableOf(name), environment[variableOf(name)]],
      ['file', path ?? '', file?.texts.get(name)],
    ];
    for (const [origin, from, text] of origins) {
      if (text === undefined) continue;
      const refusal = refusalOf(setting, text);
      if (refusal !== undefined) {
        refused.add(name);
        problems.push(`${from} '${withoutPasswords(text)}' is invalid: ${refusal}`);
      }
      return { name, key, text, origin, from };
    }
    const text = name === 'config' ? (path ?? setting.fallback) : setting.fallback;
    return { name, key, text, origin: 'default', from: undefined };
  });
  return { settings, problems, values: valuesOf(settings, refused) };
}

function fileOrProblem(path: string): ConfigFile {
  try {
    return readConfigFile(path);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { texts: new Map(), problems: [error.message] };
  }
}

function valuesOf(settings: readonly GivenSetting[], refused: ReadonlySet<SettingName>): SettingValues {
  const entries = settings.map(({ name, text }) => {
    const setting: Setting = SETTINGS[name];
    return [name, setting.read(refused.has(name) ? setting.fallback : text)];
  });
  // Each value is what the `read` of its own name returned.
  return Object.fromEntries(entries) as SettingValues;
}
