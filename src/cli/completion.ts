/** `windowpane completion`: prints a completion script for a shell, generated from the definitions of the commands. */
import { type Command, type CommandWords, type FlagWords, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'

const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

const words = {
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  synopsis: shells.join('|'),
  examples: [
    'source <(windowpane completion bash)',
    'windowpane completion zsh > ~/.zfunc/_windowpane',
    'windowpane completion fish | source',
  ],
  choices: shells,
  flags: [],
} as const satisfies CommandWords

/** `commands`: everything that can be completed, this command included. */
export const completionOf = (commands: () => readonly CommandWords[]): Command => ({
  words,
  async run({ positionals: [shell, ...more] }, io) {
    if (!shells.includes(shell as Shell) || more.length > 0)
      throw new Misuse(`expected one of ${shells.join(', ')}`)
    io.out(completionScripts[shell as Shell](commands()))
    return exitCode.ok
  },
})

export const completionScripts = { bash, zsh, fish } as const

const flagNames = ({ flags }: CommandWords): string[] => [...flags.map(({ name }) => `--${name}`), '--help']

/** Where it has no candidates, as after a flag that takes a value, bash completes names of files. */
function bash(commands: readonly CommandWords[]): string {
  const cases = commands.map((words) => {
    const { name, choices = [] } = words
    return `    ${name}) flags='${flagNames(words).join(' ')}' choices='${choices.join(' ')}' ;;`
  })
  const valued = new Set(commands.flatMap(({ flags }) => flags.filter(hasValue).map(({ name }) => name)))
  const names = [...commands.map(({ name }) => name), 'help'].join(' ')
  return `# bash completion for windowpane: source <(windowpane completion bash)
_windowpane() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}"
  local flags='--help --version' choices=''
  COMPREPLY=()
  case "$previous" in
    ${[...valued].map((name) => `--${name}`).join(' | ')}) return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    help) choices='${names}' ;;
  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    choices='${names}'
  elif [[ $COMP_CWORD -gt 2 ]]; then
    choices=''
  fi
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$choices" -- "$current")) ;;
  esac
}
complete -o bashdefault -o default -F _windowpane windowpane
`
}

function zsh(commands: readonly CommandWords[]): string {
  const listed = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`)
  const cases = commands.map(({ name, flags, choices = [] }) => {
    const first = choices.length === 0 ? [] : [quoted(`1:action:(${choices.join(' ')})`)]
    const specs = [...flags.map((flag) => quoted(zshFlag(flag))), ...first, "'*:file:_files'"]
    return `    ${name})\n      _arguments '--help[show the help]' \\\n        ${specs.join(' \\\n        ')}\n      ;;`
  })
  return `#compdef windowpane
# zsh completion for windowpane: windowpane completion zsh > ~/.zfunc/_windowpane
_windowpane() {
  local -a commands
  commands=(
${listed.join('\n')}
    'help:show the help of a command'
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
    help)
      _describe 'command' commands
      ;;
  esac
}
if [[ "$funcstack[1]" == _windowpane ]]; then _windowpane "$@"; else compdef _windowpane windowpane; fi
`
}

function zshFlag({ name, value, about }: FlagWords): string {
  const text = about.replaceAll(/[[\]:\\]/g, (sign) => `\\${sign}`)
  const argument =
    value === undefined ? '' : `:${value.replaceAll(':', '\\:')}:${value === 'FILE' ? '_files' : ''}`
  return `--${name}[${text}]${argument}`
}

function fish(commands: readonly CommandWords[]): string {
  const lines = commands.flatMap(({ name, summary, flags, choices = [] }) => {
    const inside = `complete -c windowpane -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c windowpane -n __fish_use_subcommand -a ${name} -d ${fishQuoted(summary)}`,
      ...choices.map((choice) => `${inside} -a ${choice}`),
      ...flags.map((flag) => `${inside} -l ${flag.name}${fishValue(flag)} -d ${fishQuoted(flag.about)}`),
    ]
  })
  return `# fish completion for windowpane: windowpane completion fish | source
complete -c windowpane -f
complete -c windowpane -l help -d 'show the help'
complete -c windowpane -n __fish_use_subcommand -l version -d 'print the version'
complete -c windowpane -n __fish_use_subcommand -a help -d 'show the help of a command'
${lines.join('\n')}
`
}

const hasValue = ({ value }: FlagWords): boolean => value !== undefined

const fishValue = ({ value }: FlagWords): string =>
  value === undefined ? '' : value === 'FILE' ? ' -rF' : ' -x'

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const fishQuoted = (text: string): string => `'${text.replaceAll(/[\\']/g, (sign) => `\\${sign}`)}'`
