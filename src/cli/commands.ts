/** Every command, in the order of the help, and the help itself. */
import { nearest } from '../core/suggest.ts'
import { check } from './check.ts'
import { type Command, type CommandWords, usageOf } from './command.ts'
import { completionOf } from './completion.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { explain } from './explain.ts'
import { init } from './init.ts'
import { limits } from './limits.ts'
import { mode } from './mode.ts'
import { purge } from './purge.ts'
import { reload } from './reload-command.ts'
import { serveWords } from './serve.ts'
import { shadow } from './shadow.ts'
import { status } from './status.ts'
import { store } from './store.ts'
import { tail } from './tail.ts'
import { oneLine } from './text.ts'
import { top } from './top.ts'
import { ttl } from './ttl.ts'
import { version } from './version.ts'

const completion = completionOf(() => allWords)

const common: readonly Command[] = [reload, status, doctor, explain, top, tail, ttl, purge, shadow]
/** Needed less often: the main help names them only. */
const rare: readonly Command[] = [mode, limits, store, completion, version]

/** All but serve, which is run separately. */
export const commands: ReadonlyMap<string, Command> = new Map(
  [demo, init, check, ...common, ...rare].map((command) => [command.words.name, command]),
)

const wordsOf = ({ words }: Command): CommandWords => words

/** The commands of the main help, one line each. */
const listed: readonly CommandWords[] = [
  ...[serveWords, demo.words, init.words, check.words],
  ...common.map(wordsOf),
]

const more: readonly CommandWords[] = rare.map(wordsOf)

/** The commands on the reference page and in completions. */
export const allWords: readonly CommandWords[] = [...listed, ...more]

/** Fits a terminal of 80 by 24. */
export const mainHelp = `Usage: windowpane <url of the database> | <command> [options]

  windowpane http://prometheus:9090      start; then change the URL in Grafana
  windowpane demo                        try it with a simulated database
  windowpane explain 'rate(errors[5m])'  how a query is served, and why

${listed.map(({ name, summary }) => `  ${name.padEnd(9)}${summary}`).join('\n')}

More: ${more.map(({ name }) => name).join(', ')}, help <command>.
Without arguments, windowpane.yaml of the current folder is used if it exists.
Most commands have --json. No colour without a terminal or with NO_COLOR.
Exit codes: docs/reference/command-line.md. --version, --help.
`

export function helpOf(name: string): string | undefined {
  const words = allWords.find((each) => each.name === name)
  return words === undefined ? undefined : usageOf(words)
}

export function unknownCommand(name: string): string {
  const meant = nearest(name, [...allWords.map((words) => words.name), 'help'])
  const guess = meant === undefined ? '' : `; did you mean "windowpane ${meant}"?`
  const hint =
    'A database is named by its URL, such as http://prometheus:9090. windowpane --help lists the commands.'
  return `windowpane: there is no command "${oneLine(name.slice(0, 80))}"${guess}\n${hint}\n`
}
