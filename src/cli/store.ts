/** `windowpane store`: creates the tables of a store on its engine, and checks whether the engine can be used. */
import { readStoreUrl } from '../config/open-store.ts'
import type { StoreConfig } from '../config/store-types.ts'
import type { Clock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { withoutCredentials } from '../core/url.ts'
import type { Inspected, Refused, StoreAbilities } from '../stores/kind.ts'
import { kindOfStore } from '../stores/kinds.ts'
import { type Command, type CommandIo, type Given, json, Misuse } from './command.ts'
import { exitCode } from './exit-codes.ts'

const words = {
  name: 'store',
  summary: 'create the tables of a shared store, or check it',
  synopsis: 'init|check --url URL [options]',
  choices: ['init', 'check'],
  examples: [
    'windowpane store check --url redis://cache:6379/0',
    'windowpane store init --url cassandra://cassandra:9042/windowpane?dc=dc1',
    'windowpane store init --print --url dynamodb://windowpane?region=eu-west-1',
  ],
  about: `init creates missing tables and changes no existing one; with
--print it only prints their definitions, for other tools. check queries the
engine and creates nothing. Both end with 1 if the store cannot be used.`,
  flags: [
    {
      name: 'url',
      value: 'URL',
      about: 'the store, as in stores.<name>.url; a password belongs in the variable',
      env: 'WINDOWPANE_STORE_URL',
    },
    { name: 'print', about: 'init: print the definitions, and create nothing' },
    { name: 'json', about: 'one JSON object instead of text' },
  ],
  exits: [exitCode.failed],
} as const

/** The output of `--json`; other programs rely on these names. */
interface Report {
  readonly ok: boolean
  readonly engine: string
  readonly version: string
  readonly created: readonly string[]
  readonly capabilities: StoreAbilities
  readonly missing?: readonly string[]
  readonly definition?: string
  readonly error?: { readonly code: string; readonly detail: string; readonly remedy: string }
}

async function run(given: Given, io: CommandIo): Promise<number> {
  const [action, ...more] = given.positionals
  if ((action !== 'init' && action !== 'check') || more.length > 0) throw new Misuse('expected init or check')
  if (given.has('print') && action === 'check') throw new Misuse('--print belongs to init')
  const url = given.flag('url') ?? io.env['WINDOWPANE_STORE_URL']
  if (url === undefined || url === '')
    throw new Misuse('it needs the URL of the store: --url URL, or WINDOWPANE_STORE_URL')
  const config = configOf(url)
  const kind = kindOfStore(config)
  const report: Report = {
    ...{ ok: true, engine: config.type, version: '', created: [], capabilities: kind.capabilities },
    ...(given.has('print')
      ? { definition: kind.setup?.definition(config) ?? '' }
      : await resultOf(config, action, io.clock)),
  }
  io.out(given.has('json') ? json(report) : textOf(report, action))
  if (report.error !== undefined && !given.has('json'))
    io.err(`windowpane: ${withoutCredentials(url)}: ${report.error.detail}\n${report.error.remedy}\n`)
  return report.ok ? exitCode.ok : exitCode.failed
}

function configOf(url: string): StoreConfig {
  try {
    return readStoreUrl(url)
  } catch (error) {
    throw error instanceof WindowpaneError ? new Misuse(`${error.message}. ${error.remedy}`) : error
  }
}

async function resultOf(
  config: StoreConfig,
  action: 'init' | 'check',
  clock: Clock,
): Promise<Partial<Report>> {
  const kind = kindOfStore(config)
  const setup = action === 'init' ? kind.setup : undefined
  const made = (await setup?.create(config, clock)) ?? { created: [] }
  if ('refused' in made) return failed(made)
  const { created } = made
  const found = await kind.inspect(config, clock)
  if ('refused' in found) return { ...failed(found), created }
  const { version, missing } = found
  const error = missing.length > 0 ? { ok: false, error: notSetUp(missing) } : {}
  return { version, created, missing, ...error }
}

const failed = ({ refused: code, detail, remedy }: Refused): Pick<Report, 'ok' | 'error'> => ({
  ok: false,
  error: { code, detail, remedy },
})

const notSetUp = (missing: Inspected['missing']): NonNullable<Report['error']> => ({
  code: 'not_set_up',
  detail: `there is no ${missing.join(', no ')}`,
  remedy: 'windowpane store init --url URL creates them; with --print it shows how.',
})

function textOf({ ok, engine, version, created, capabilities, definition }: Report, action: string): string {
  if (definition !== undefined)
    return definition === '' ? nothingToCreate(engine) : `${definition.trimEnd()}\n`
  if (!ok) return ''
  const { cells, ttl, pubsub } = capabilities
  const can = [
    cells ? 'leases, marks and quotas' : 'no leases',
    ttl === 'none' ? 'no expiry of its own' : `expiry to the ${ttl === 'ms' ? 'millisecond' : 'second'}`,
    pubsub ? 'announces changes to other nodes' : 'other nodes notice changes by time',
  ]
  const made = created.length > 0 ? `Created ${created.join(', ')}.\n` : 'Nothing had to be created.\n'
  return `${action === 'init' ? made : ''}${engine} ${version} can be used: ${can.join(', ')}.\n`
}

const nothingToCreate = (engine: string): string =>
  `Nothing has to be created on ${engine}: keys are made when they are written.\n`

export const store: Command = { words, run }
