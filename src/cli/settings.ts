import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { ALL_SETTINGS, variableOf } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { readConfigFile } from './config-file.ts';
import { type Environment, unknownVariables } from './environment.ts';

/** Commands that use no settings, or report everything that is wrong with them. */
const COMMANDS_WITHOUT_SETTINGS = ['completion', 'config', 'doctor', 'manual', 'metrics', 'openapi', 'version'];

/** The parser's words for values of flags and of variables. */
const GIVEN = ['cli', 'env'];

/**
 * Gives a parsed command the values of the configuration file, where neither a flag nor a variable has one. Throws
 * 'invalid-parameter' for an unknown variable or key and for a refused value, and as `readConfigFile` does.
 */
export function applySettings(command: CommandUnknownOpts, environment: Environment): void {
  const commands = withAncestors(command);
  if (COMMANDS_WITHOUT_SETTINGS.includes(commands.at(-2)!.name())) return;
  refuseFirst(unknownVariables(environment));
  const { config } = command.optsWithGlobals();
  if (typeof config !== 'string') return;
  const { texts, problems } = readConfigFile(config);
  refuseFirst(problems);
  const settingOf = new Map(ALL_SETTINGS.map(([name, setting]) => [variableOf(name), { name, setting }]));
  for (const one of commands) {
    for (const option of one.options) {
      const { name, setting } = settingOf.get(option.envVar ?? '') ?? {};
      const text = name && texts.get(name);
      const key = option.attributeName();
      if (text === undefined || GIVEN.includes(one.getOptionValueSource(key) ?? '')) continue;
      one.setOptionValueWithSource(key, setting!.read(text), 'config');
    }
  }
}

function refuseFirst([problem]: readonly string[]): void {
  if (problem !== undefined) throw new DomainError('invalid-parameter', problem);
}

/** The command and all commands above it, up to the program. */
function withAncestors(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return command.parent === null ? [command] : [command, ...withAncestors(command.parent)];
}
