import { Command, type CommandUnknownOpts, type OptionValues } from '@commander-js/extra-typings';
import type { Change } from '../account/change.ts';
import { DomainError } from '../domain/errors.ts';
import { openRegistry, type RegistryOptions } from '../store/registry.ts';
import type { Terminal } from './terminal.ts';
import { notingNew } from './with-archive.ts';

/** Options that every command takes. */
export type GlobalOptions = {
  readonly data: string;
  readonly json?: boolean | undefined;
};

export type NoOptions = Record<never, never>;

/** The options of the command that a function declares, with those of the commands above it. */
export type OptionsOf<Declare extends (...given: never[]) => Pick<CommandUnknownOpts, 'optsWithGlobals'>> = Readonly<
  ReturnType<ReturnType<Declare>['optsWithGlobals']>
>;

/** A command of the program, which gives it its global options. */
export function programCommand(name: string): Command<[], NoOptions, GlobalOptions> {
  return new Command<[], NoOptions, GlobalOptions>(name);
}

/** Refuses a word that is none of a command's commands: the parser would pass it to the default one, `start`, as an argument. */
export function refuseOtherVerbs(command: CommandUnknownOpts, start: CommandUnknownOpts): void {
  command.hook('preSubcommand', ({ args: [word] }, chosen) => {
    if (chosen !== start || word === undefined || word === start.name() || word.startsWith('-')) return;
    const visible = command
      .createHelp()
      .visibleCommands(command)
      .map((known) => known.name());
    const names = visible.filter((name) => name !== 'help').join(', ');
    throw new DomainError(
      'invalid-parameter',
      `there is no command '${command.name()} ${word}': choose one of ${names}`,
    );
  });
}

/** The end of a command's help: `commands` without the name of the program. */
export function examples(...commands: readonly string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ bookreel ${command}`).join('\n')}`;
}

/**
 * Sets the action of a command that uses the registry of the data directory, and closes the registry at the end. `create`: a missing registry is
 * created; `check` refuses options before that. Throws as `openRegistry` does.
 */
export function onRegistry<
  Given extends unknown[],
  Own extends OptionValues,
  Global extends GlobalOptions & Omit<RegistryOptions, 'create'>,
>(
  terminal: Terminal,
  command: Command<Given, Own, Global>,
  work: (change: Change, options: Readonly<Own & Global>, ...given: Given) => void | Promise<void>,
  {
    create = false,
    readOnly = false,
    check,
  }: {
    readonly create?: boolean;
    readonly readOnly?: boolean;
    readonly check?: (options: Readonly<Own & Global>, ...given: Given) => void;
  } = {},
): Command<Given, Own, Global> {
  return command.action(async () => {
    const options = command.optsWithGlobals() as Own & Global;
    check?.(options, ...command.processedArgs);
    const nameNew = create ? notingNew(terminal, options) : undefined;
    using registry = openRegistry(options.data, { ...options, create, readOnly });
    const { clock, operatingUser } = terminal;
    await work({ registry, nowMs: clock(), operatingUser }, options, ...command.processedArgs);
    nameNew?.();
  });
}
