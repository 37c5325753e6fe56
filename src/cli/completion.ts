import { Argument, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { COMPLETION_SCRIPTS, type CompletedCommand, type Expected, type Shell } from './completion-scripts.ts';
import { programCommand } from './program-command.ts';
import type { Terminal } from './terminal.ts';

const SHELLS = Object.keys(COMPLETION_SCRIPTS) as Shell[];

export function completionCommand(terminal: Terminal): CommandUnknownOpts {
  return (
    programCommand('completion')
      .description('print the script that completes commands and options in a shell')
      .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
      .addHelpText(
        'after',
        `
The Debian package installs these scripts.

Examples:
  $ bookreel completion bash > ~/.local/share/bash-completion/completions/bookreel
  $ bookreel completion zsh > "\${fpath[1]}/_bookreel"
  $ bookreel completion fish > ~/.config/fish/completions/bookreel.fish`,
      )
      // The parser allows the names of the scripts only.
      .action((shell, _, command) => {
        terminal.out(COMPLETION_SCRIPTS[shell](completedCommands(command.parent!)));
      })
  );
}

/** A command and all below it, as their help shows them. */
function completedCommands(command: CommandUnknownOpts, above = ''): CompletedCommand[] {
  const words = `${above}${command.name()}`;
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const places = command.registeredArguments.map((argument) => expected(argument.name(), argument.argChoices));
  const own: CompletedCommand = {
    words,
    commands: command.commands.map((child) => ({ name: child.name(), about: child.description() })),
    argument: places.find((place) => place !== 'nothing') ?? 'nothing',
    options: options.map(({ short, long, flags, description, argChoices }) => ({
      short,
      long: long!,
      about: description,
      value: flags.includes('<') ? expected(/<(.+)>/.exec(flags)![1]!, argChoices) : undefined,
    })),
  };
  return [own, ...command.commands.flatMap((child) => completedCommands(child, `${words} `))];
}

/** The completions for an argument or for an option's value, by its name. */
function expected(name: string, choices: readonly string[] | undefined): Expected {
  if (choices !== undefined) return choices;
  if (name === 'file' || name === 'path') return 'files';
  return ['dir', 'directory', 'place', 'backup'].includes(name) ? 'directories' : 'nothing';
}
