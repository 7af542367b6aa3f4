/** `windowpane init`: writes a commented configuration to start from. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { loadConfig } from '../config/load.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { usualConfigFile } from './config-file.ts'
import { exitCode, Failure } from './exit-codes.ts'
import { problemsIn } from './reload.ts'
import { starterFile } from './starter.ts'
import { oneLine } from './text.ts'

const usualUrl = 'http://prometheus:9090'

const words = {
  name: 'init',
  summary: 'write a commented configuration file',
  synopsis: '[file] [url of the database] [--force]',
  examples: [
    'windowpane init',
    'windowpane init http://druid-router:8888',
    'windowpane init /etc/windowpane.yaml http://prometheus:9090 --force',
  ],
  about: `The file is ${usualConfigFile} unless another is named; - writes to the output. It has
every key with its meaning and its default.`,
  flags: [
    { name: 'force', about: 'replace the file where there is one' },
    { name: 'json', about: 'for programs' },
  ],
  exits: [exitCode.failed, exitCode.unconfirmed],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  const urls = given.positionals.filter(isUrl)
  const files = given.positionals.filter((text) => !isUrl(text))
  if (urls.length > 1 || files.length > 1) throw new Misuse('expected at most one file and one URL')
  const [url = usualUrl] = urls
  const [file = usualConfigFile] = files
  const schema = schemaSeenFrom(file)
  const text = starterFile({ url, file: file === '-' ? usualConfigFile : file, schema })
  const loaded = loadConfig({ file: { name: file, bytes: Buffer.from(text) } })
  if ('problems' in loaded) throw new Failure(exitCode.misused, problemsIn(loaded))
  if (file === '-') {
    io.out(text)
    return exitCode.ok
  }
  await write(file, text, given.has('force'))
  io.out(given.has('json') ? json({ file, url, schema: schema ?? null }) : nextSteps(file))
  return exitCode.ok
}

const isUrl = (text: string): boolean => /^[a-z][a-z+.-]*:\/\//i.test(text)

const nextSteps = (file: string): string =>
  `Wrote ${oneLine(file)}. Next:
  windowpane check --config ${oneLine(file)} --connect
  windowpane --config ${oneLine(file)}
`

async function write(file: string, text: string, isForced: boolean): Promise<void> {
  try {
    await writeFile(file, text, { flag: isForced ? 'w' : 'wx' })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw new Failure(exitCode.failed, `the file cannot be written: ${message}`)
    const sentence = `there is a file ${oneLine(file)} already`
    throw new Failure(exitCode.unconfirmed, sentence, 'Name another, or replace it with --force.')
  }
}

/** Only where the path stays right: below the folder of the file, as in a checkout or in node_modules. */
function schemaSeenFrom(file: string): string | undefined {
  const schema = join(import.meta.dirname, '../../docs/reference/configuration.schema.json')
  const path = relative(dirname(resolve(file)), schema)
  return path.startsWith('..') || !existsSync(schema) ? undefined : `./${path.split(sep).join('/')}`
}

export const init: Command = { words, run }
