import { ALL_SETTINGS, VARIABLE_PREFIX, variableOf } from '../config.ts';
import { nearestWord } from '../domain/nearest-word.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Names a process that a server has started, for itself. */
export const PROCESS_VARIABLE = 'BOOKREEL_PROCESS';

const VARIABLES = ALL_SETTINGS.map(([name]) => variableOf(name));
/** Variables of processes that a server starts, of the clients in the manual and of this project's tests: a shell may have them for other commands. */
const OTHER_VARIABLES = [
  PROCESS_VARIABLE,
  ...['BOOKREEL_KEY', 'BOOKREEL_URL'],
  ...['BOOKREEL_BEFORE', 'BOOKREEL_BINARY', 'BOOKREEL_FAULT_RESULTS', 'BOOKREEL_RECORDINGS'],
];

/** A sentence for each variable that looks like a setting but is not one. It leaves out the values: one may be a secret. */
export function unknownVariables(environment: Environment): string[] {
  const known = new Set([...VARIABLES, ...OTHER_VARIABLES]);
  return Object.keys(environment)
    .filter((name) => name.startsWith(VARIABLE_PREFIX) && !known.has(name))
    .map((name) => {
      const nearest = nearestWord(name.slice(VARIABLE_PREFIX.length), withoutPrefix(VARIABLES));
      const advice = nearest === undefined ? 'unset it' : `did you mean ${VARIABLE_PREFIX}${nearest}?`;
      return `there is no setting for the variable ${name}: ${advice}`;
    });
}

function withoutPrefix(names: readonly string[]): string[] {
  return names.map((name) => name.slice(VARIABLE_PREFIX.length));
}
