/** The completions that a shell offers: these words, names of files or directories, or nothing, since any text is valid. */
export type Expected = readonly string[] | 'files' | 'directories' | 'nothing';

interface CompletedOption {
  /** `-o`. */
  readonly short: string | undefined;
  /** `--output`. */
  readonly long: string;
  readonly about: string;
  /** Undefined: the option has no value. */
  readonly value: Expected | undefined;
}

export interface CompletedCommand {
  /** The words that call it: `bookreel key create`. */
  readonly words: string;
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  /** The completions for its arguments: no command has two arguments with different ones. */
  readonly argument: Expected;
  readonly options: readonly CompletedOption[];
}

export type Shell = keyof typeof COMPLETION_SCRIPTS;

/** Makes a script for each shell. The first command is the program; the others may have any order. */
export const COMPLETION_SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

function bashScript(commands: readonly CompletedCommand[]): string {
  const offer = (expected: Expected) => {
    if (expected === 'nothing') return ':';
    const what = { files: '-f', directories: '-d' };
    if (typeof expected === 'string') return `compopt -o filenames; offer ${what[expected]}`;
    return `offer -W ${quoted(expected.join(' '))}`;
  };
  return `# bash completion for bookreel, made by 'bookreel completion bash'
_bookreel() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} words=bookreel i
  offer() { mapfile -t COMPREPLY < <(compgen "$@" -- "$current"); }
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$words \${COMP_WORDS[i]}" in
      ${called(commands, quoted, ' | ')}) words+=" \${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$words $before" in
${valueCases(commands, (value) => `${offer(value)}; return`)}
  esac
  if [[ $current == -* ]]; then
    case "$words" in
${cases(commands, ({ options }) => offer(options.flatMap(spellings)))}
    esac
  else
    case "$words" in
${cases(commands, (command) => offer(wordsOrArgument(command)))}
    esac
  fi
}
complete -F _bookreel bookreel
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const offer = (expected: Expected) => {
    if (typeof expected !== 'string') return `compadd -- ${expected.map(quoted).join(' ')}`;
    return { files: '_files', directories: '_files -/', nothing: ':' }[expected];
  };
  const described = (items: readonly { readonly name: string; readonly about: string }[]) =>
    `offered=(${items.map(({ name, about }) => quoted(`${name}:${about}`)).join(' ')}); _describe bookreel offered`;
  return `#compdef bookreel
# zsh completion for bookreel, made by 'bookreel completion zsh'
_bookreel() {
  local called=bookreel i
  local -a offered
  for ((i = 2; i < CURRENT; i++)); do
    case "$called \${words[i]}" in
      ${called(commands, quoted, ' | ')}) called+=" \${words[i]}" ;;
    esac
  done
  case "$called \${words[CURRENT - 1]}" in
${valueCases(commands, (value) => `${offer(value)}; return`)}
  esac
  if [[ $PREFIX == -* ]]; then
    case "$called" in
${cases(commands, ({ options }) => described(options.flatMap((option) => spellings(option).map((name) => ({ ...option, name })))))}
    esac
  else
    case "$called" in
${cases(commands, ({ commands: below, argument }) => (below.length > 0 ? described(below) : offer(argument)))}
    esac
  fi
}
if [[ \${funcstack[1]} == _bookreel ]]; then _bookreel "$@"; else compdef _bookreel bookreel; fi
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const words = (expected: Expected) => {
    if (typeof expected !== 'string') return ` -a ${fishQuoted(expected.join(' '))}`;
    return { files: ' -F', directories: " -a '(__fish_complete_directories)'", nothing: '' }[expected];
  };
  const lines = commands.flatMap(({ words: at, commands: below, argument, options }) => {
    const start = `complete -c bookreel -n ${fishQuoted(`__bookreel_at ${at}`)}`;
    return [
      ...below.map(({ name, about }) => `${start} -a ${name} -d ${fishQuoted(about)}`),
      ...(argument === 'nothing' || below.length > 0 ? [] : [`${start}${words(argument)}`]),
      ...options.map(({ short, long, about, value }) => {
        const name = `${short === undefined ? '' : ` -s ${short.slice(1)}`} -l ${long.slice(2)}`;
        const takes = value === undefined ? '' : `${value === 'files' ? ' -r' : ' -x'}${words(value)}`;
        return `${start}${name}${takes} -d ${fishQuoted(about)}`;
      }),
    ];
  });
  return `# fish completion for bookreel, made by 'bookreel completion fish'
function __bookreel_at
    set -l called bookreel
    for word in (commandline -opc)[2..]
        switch "$called $word"
            case ${called(commands, fishQuoted, ' ')}
                set called "$called $word"
        end
    end
    test "$called" = "$argv"
end
complete -c bookreel -f
${lines.join('\n')}
`;
}

/** The words of all commands below the program. */
function called(commands: readonly CompletedCommand[], quote: (words: string) => string, separator: string): string {
  return commands
    .slice(1)
    .map(({ words }) => quote(words))
    .join(separator);
}

/** A case for each option of each command that takes a value. */
function valueCases(commands: readonly CompletedCommand[], then: (value: Expected) => string): string {
  return commands
    .flatMap(({ words, options }) =>
      options.flatMap((option) => {
        const patterns = spellings(option).map((name) => quoted(`${words} ${name}`));
        return option.value === undefined ? [] : [`    ${patterns.join(' | ')}) ${then(option.value)} ;;`];
      }),
    )
    .join('\n');
}

function cases(commands: readonly CompletedCommand[], then: (command: CompletedCommand) => string): string {
  return commands.map((command) => `      ${quoted(command.words)}) ${then(command)} ;;`).join('\n');
}

function wordsOrArgument({ commands, argument }: CompletedCommand): Expected {
  return commands.length > 0 ? commands.map(({ name }) => name) : argument;
}

function spellings({ short, long }: CompletedOption): string[] {
  return short === undefined ? [long] : [short, long];
}

/** Quotes a text for bash and zsh. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
