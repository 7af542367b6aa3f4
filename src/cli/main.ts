/** The command line: which command is meant. Each has a file of its own. */
import { runCommand } from './command.ts'
import { commands, helpOf, mainHelp, unknownCommand } from './commands.ts'
import { exitCode } from './exit-codes.ts'
import { processIo as io } from './process-io.ts'
import { isConfigured, serve } from './serve.ts'
import { versionLine } from './version.ts'

const argv = process.argv.slice(2)
const [name = '', ...rest] = argv

/** Undefined while the proxy runs. */
function run(): Promise<number | undefined> | number {
  const command = commands.get(name)
  if (command !== undefined) return runCommand(command, rest, io)
  if (name === 'help') return help(rest)
  if (name === '--help' || name === '-h') return help([])
  if (name === '--version' || name === '-v') return print(versionLine)
  if (argv.length === 0 && !isConfigured(io)) return help([])
  if (name === 'serve') return startProxy(rest)
  // Whatever is a flag or has something of a URL is meant for the proxy.
  return /^[^-][^:/.]*$/.test(name) ? unknown(name) : startProxy(argv)
}

function print(text: string): number {
  io.out(text)
  return exitCode.ok
}

/** The output need not be read: the proxy continues. */
function startProxy(given: readonly string[]): Promise<number | undefined> {
  process.stdout.off('error', stopReading)
  process.stdout.on('error', () => {})
  return serve(given, io)
}

function help([topic]: readonly string[]): number {
  const text = topic === undefined || topic === 'help' ? mainHelp : helpOf(topic)
  if (text === undefined) return unknown(topic!)
  return print(text)
}

function unknown(given: string): number {
  io.err(unknownCommand(given))
  return exitCode.misused
}

/** `windowpane top | head`: the reader has closed the pipe. */
function stopReading(error: NodeJS.ErrnoException): void {
  process.exit(error.code === 'EPIPE' ? exitCode.ok : exitCode.failed)
}

process.stdout.on('error', stopReading)
const code = await run()
if (code !== undefined) {
  // Output is flushed before the process ends, whatever else is still open.
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise((resolve) => stream.write('', resolve))
  }
  process.exit(code)
}
