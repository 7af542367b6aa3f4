/** The definition of a command: its help texts, its flags, and the parsing of its arguments. */
import { readFile } from 'node:fs/promises'
import { type SplitArguments, splitArguments } from '../config/flags.ts'
import type { Connector } from '../config/judge.ts'
import type { Clock } from '../core/clock.ts'
import { nearest } from '../core/suggest.ts'
import { oneLine } from '../core/text.ts'
import type { Io } from './config-file.ts'
import { type ExitCode, exitCode, Failure } from './exit-codes.ts'

export interface FlagWords {
  readonly name: string
  /** The placeholder of its value in the help; a switch has none. */
  readonly value?: string
  readonly about: string
  /** The equivalent variable and configuration key. */
  readonly env?: string
  readonly key?: string
}

export interface CommandWords {
  readonly name: string
  /** One line of the main help. */
  readonly summary: string
  /** The text after the name. */
  readonly synopsis: string
  readonly examples: readonly string[]
  /** The words that its first argument may be, for completion in a shell. */
  readonly choices?: readonly string[]
  /** Further information. */
  readonly about?: string
  readonly flags: readonly FlagWords[]
  /** Every key of the configuration is a flag, too. */
  readonly takesKeys?: boolean
  /** The exit codes it has besides 0 and 2. */
  readonly exits?: readonly ExitCode[]
}

export interface Terminal {
  columns(): number
  rows(): number
  readonly hasColour: boolean
}

/** The interface of a command to its process. */
export interface CommandIo extends Io {
  /** Instead of the network, for `check`. */
  readonly connect?: Connector
  readonly clock: Clock
  /** Where the output is a terminal. */
  readonly terminal?: Terminal
  /** Where the errors are shown on a terminal: progress may be drawn there and taken away again. */
  readonly isErrTerminal: boolean
  readonly hasUtf8: boolean
  readInput(): Promise<string>
  /** Prompts the user; absent where there is no terminal. */
  confirm?(question: string): Promise<boolean>
  /** Resolves once a slow reader of the output has read everything. */
  drained(): Promise<void>
  /** Keeps the process alive until the user, or a signal, ends it; the action is called then. */
  onInterrupt(action: () => void): () => void
}

/** The text of a file, or of the input where the name is `-`. */
export const textIn = async (name: string, io: CommandIo): Promise<string> =>
  name === '-' ? io.readInput() : Buffer.from(await (io.readFile ?? readFile)(name)).toString()

export interface Command {
  readonly words: CommandWords
  run(given: Given, io: CommandIo): Promise<number>
}

export interface Given {
  /** The value of a flag, where it was given. */
  flag(name: string): string | undefined
  has(name: string): boolean
  readonly positionals: readonly string[]
  readonly split: SplitArguments
}

/** Ends a command whose arguments cannot be used; the message is the mistake. */
export class Misuse extends Error {}

/** `literals`: arguments that are no flags, whatever they look like. @throws Misuse */
function readArguments(words: CommandWords, argv: readonly string[], literals: readonly string[]): Given {
  const split = splitArguments(argv, kindsOf(words))
  const stranger = words.takesKeys ? undefined : split.flags[0]
  if (stranger !== undefined) throw new Misuse(unknownFlag(words, stranger.typed ?? stranger.name))
  const empty = words.flags.find(({ name, value }) => value !== undefined && isEmpty(split, name))
  if (empty !== undefined) throw new Misuse(`--${empty.name} needs a value: --${empty.name} ${empty.value}`)
  return {
    flag: (name) => split.own.get(name),
    has: (name) => split.own.has(name),
    positionals: [...split.positionals, ...literals],
    split,
  }
}

/** Whether each flag takes a value, for `splitArguments`. */
const kindsOf = ({ flags }: CommandWords): Readonly<Record<string, 'switch' | 'value'>> =>
  Object.fromEntries(flags.map(({ name, value }) => [name, value === undefined ? 'switch' : 'value']))

const isEmpty = ({ own }: SplitArguments, name: string): boolean => own.has(name) && !own.get(name)

function unknownFlag({ flags }: CommandWords, name: string): string {
  const meant = nearest(
    name,
    flags.map((flag) => flag.name),
  )
  return `there is no flag --${name.slice(0, 80)}${meant === undefined ? '' : `; did you mean --${meant}?`}`
}

/** Reads the arguments and runs the command, or prints the mistake. */
export async function runCommand(command: Command, argv: readonly string[], io: CommandIo): Promise<number> {
  const { words, run } = command
  // Everything after `--` stands for itself.
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length
  const own = argv.slice(0, end)
  if (own.includes('--help') || own.includes('-h')) {
    io.out(usageOf(words))
    return exitCode.ok
  }
  try {
    return await run(readArguments(words, own, argv.slice(end + 1)), io)
  } catch (error) {
    if (error instanceof Misuse) return misuse(words, error, io)
    if (error instanceof Failure) return complain(error, io)
    throw error
  }
}

/** @throws Misuse where an argument is left over. */
export function expectNoMore([odd]: readonly string[]): void {
  if (odd !== undefined) throw new Misuse(`"${oneLine(odd)}" is not understood`)
}

function misuse({ name }: CommandWords, { message }: Misuse, io: Io): number {
  io.err(`windowpane ${name}: ${message}\nwindowpane ${name} --help shows its usage.\n`)
  return exitCode.misused
}

function complain({ code, message, remedy }: Failure, io: Io): number {
  io.err(`windowpane: ${message}\n${remedy === undefined ? '' : `${remedy}\n`}`)
  return code
}

export const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The help of one command, at most 80 columns wide. */
export function usageOf(words: CommandWords): string {
  const { name, synopsis, examples, about, flags, takesKeys } = words
  const parts = [
    `Usage: windowpane ${name} ${synopsis}`.trimEnd(),
    examples.map((example) => `  ${example}`).join('\n'),
    ...(about === undefined ? [] : [wrapped(about.replaceAll('\n', ' '), width).join('\n')]),
    [...flags.map(flagLines), ...(takesKeys ? [keyLine] : [])].join('\n'),
    exitLine(words),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

const aboutColumn = 24
const width = 80

const keyLine = row('--KEY=VALUE', 'any key of the configuration: docs/reference/configuration.md')

function flagLines({ name, value, about, env, key }: FlagWords): string {
  const head = value === undefined ? `--${name}` : `--${name} ${value}`
  const names = [env, key].filter((text) => text !== undefined).join(', ')
  return names === '' ? row(head, about) : `${row(head, about)}\n${row('', `(${names})`)}`
}

function row(head: string, about: string): string {
  const lines = wrapped(about, width - aboutColumn)
  const [first = '', ...rest] = lines
  const isLong = head.length + 4 > aboutColumn
  const start = isLong
    ? `  ${head}\n${' '.repeat(aboutColumn)}${first}`
    : `${`  ${head}`.padEnd(aboutColumn)}${first}`
  return [start, ...rest.map((line) => ' '.repeat(aboutColumn) + line)].join('\n')
}

export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] += ` ${word}`
    else lines.push(word)
  }
  return lines
}

const exitWords: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'failed',
  2: 'misused',
  3: 'not reached',
  4: 'not confirmed',
  5: 'not known yet',
  6: 'changes pending',
}

const exitLine = ({ exits = [] }: CommandWords): string =>
  `Exit codes: ${[0, ...exits, 2]
    .sort()
    .map((code) => `${code} ${exitWords[code as ExitCode]}`)
    .join('; ')}.`
