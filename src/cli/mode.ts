/** `windowpane mode`: switches a database between off, shadow and on until the configuration is next reloaded. */
import { type Mode, modes } from '../proxy/request/settings.ts'
import { adminFlags, fetchJson, posting } from './admin-client.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'
import { findNamedProxy, type Reach, reachText } from './proxy-identity.ts'
import { oneLine } from './text.ts'

const words = {
  name: 'mode',
  summary: 'switch a backend between off, shadow and on',
  synopsis: '<backend> off|shadow|on [options]',
  examples: ['windowpane mode main shadow', 'windowpane mode main on'],
  about: `off forwards requests; shadow answers from the database and compares with the
cache; on answers from the cache where it can. It holds until the configuration is
reloaded or the proxy restarts. Where several nodes share the store of the database, it
holds at all of them within seconds, and at nodes that start later, until they reload
or the last one ends. The proxy must allow it: admin.allowWrites.`,
  flags: adminFlags,
  exits: [exitCode.failed, exitCode.unreachable],
} as const

async function run(given: Given, io: CommandIo): Promise<number> {
  const [backend, mode, ...more] = given.positionals
  if (backend === undefined || mode === undefined || more.length > 0)
    throw new Misuse('expected the name of a backend and a mode')
  if (!modes.includes(mode as Mode))
    throw new Misuse(`mode "${oneLine(mode)}" is none of ${modes.join(', ')}`)
  const admin = await findNamedProxy(given, io)
  const answer = await fetchJson<ModeAnswer>(admin, '/-/mode', posting({ backend, mode }))
  io.out(given.has('json') ? json(answer) : `${sentenceOf(answer)}\n`)
  if (answer.note !== undefined) io.err(`windowpane: ${oneLine(answer.note)}\n`)
  return exitCode.ok
}

interface ModeAnswer {
  readonly backend: string
  readonly mode: string
  readonly was: string
  /** Where the store is shared. */
  readonly reach?: Reach
  readonly note?: string
}

function sentenceOf({ backend, mode, was, reach }: ModeAnswer): string {
  if (was === mode && (reach?.nodes ?? 1) < 2) return `${backend} is ${mode} already.`
  const before = was === mode ? 'as before' : `it was ${was}`
  return `${backend} is ${mode} (${before})${reachText(reach)} until the configuration is reloaded.`
}

export const mode: Command = { words, run }
