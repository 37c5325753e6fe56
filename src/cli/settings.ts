import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { ALL_SETTINGS, variableOf } from '../config.ts';
import { DomainError } from '../domain/errors.ts';
import { readConfigFile } from './config-file.ts';
import { type Environment, unknownVariables } from './environment.ts';
import { becomeOwner } from './operating-user.ts';
import type { Terminal } from './terminal.ts';

/** Commands that use no settings, or report everything that is wrong with them. */
const COMMANDS_WITHOUT_SETTINGS = ['completion', 'config', 'doctor', 'manual', 'metrics', 'openapi', 'version'];

/** Root may have started them to listen on ports of root. */
const SERVERS = ['serve', 'replay'];

/** The parser's words for values of flags and of variables. */
const GIVEN = ['cli', 'env'];

/**
 * Gives a parsed command the values of the configuration file, where neither a flag nor a variable has one. If neither a file nor a
 * data directory is given, the file is that of the package; then root becomes the owner of the data directory, unless the command
 * serves. Throws 'invalid-parameter' for an unknown variable or key and for a refused value, and as `readConfigFile` does.
 */
export function applySettings(command: CommandUnknownOpts, environment: Environment, terminal: Terminal): void {
  const noun = withAncestors(command).at(-2)!.name();
  if (COMMANDS_WITHOUT_SETTINGS.includes(noun)) return;
  refuseFirst(unknownVariables(environment));
  const isGiven = (key: string) => GIVEN.includes(command.getOptionValueSourceWithGlobals(key) ?? '');
  const { config } = command.optsWithGlobals();
  const path = isGiven('config') || isGiven('data') ? config : terminal.packageConfig;
  // The parser makes an empty text of none.
  if (typeof path === 'string' && path !== '') applyFile(command, path);
  const { data } = command.optsWithGlobals();
  if (!SERVERS.includes(noun)) becomeOwner(String(data), terminal);
}

function applyFile(command: CommandUnknownOpts, path: string): void {
  const { texts, problems } = readConfigFile(path);
  refuseFirst(problems);
  const settingOf = new Map(ALL_SETTINGS.map(([name, setting]) => [variableOf(name), { name, setting }]));
  for (const one of withAncestors(command)) {
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
