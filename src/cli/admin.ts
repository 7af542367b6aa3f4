/** The admin listener of a running proxy, from its configuration. */
import { readFileSync } from 'node:fs'
import { rangeQueryPath } from '../backends/prometheus/plan.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { leavesOf } from '../config/view.ts'
import { systemClock } from '../core/clock.ts'
import { WindowpaneError } from '../core/errors.ts'
import { type Admin, type ReloadReport, startAdmin } from '../proxy/admin.ts'
import { runThrough } from '../proxy/admin-run.ts'
import type { House } from '../proxy/server.ts'
import type { ModeState } from '../proxy/settings.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'

export interface Running {
  readonly house: House
  readonly telemetry: Telemetry
  /** The configuration in force. */
  readonly loaded: () => LoadedConfig
  reload(): Promise<ReloadReport>
}

/** Resolves to undefined where there is to be none, or none can be: that costs a view, not the proxy. */
export async function openAdmin(running: Running): Promise<Admin | undefined> {
  const { house, telemetry, loaded, reload } = running
  const { admin } = loaded().config
  if (!admin.enabled) return undefined
  try {
    const opened = await startAdmin({
      listen: admin.listen,
      clock: systemClock,
      version,
      telemetry,
      token: () => tokenOf(admin),
      allowsWrites: () => admin.allowWrites,
      unready: () => unknownDatabases(house),
      status: () => statusOf(house),
      config: (mode) =>
        leavesOf(loaded()).filter(({ source }) => mode === 'effective' || source !== 'default'),
      reload,
      databases: () => new Map(house.databases.map((each) => [each.name, databaseOf(loaded().config, each)])),
      purge: house.purge,
      shadow: {
        log: house.shadowLog,
        modes: new Map(house.databases.map(({ name, modes }) => [name, modes])),
      },
    })
    telemetry.log.line('info', 'look here for status, metrics and explanations', { url: `${opened.url}/-/` })
    return opened
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    telemetry.log.line('warn', `there is no admin listener: ${error.message}`, {
      remedy: 'Set admin.listen.',
    })
    return undefined
  }
}

/** An empty text lets nobody in: a token that cannot be read must not open the door. */
function tokenOf({ token, tokenFile }: Config['admin']): string | undefined {
  if (token !== undefined) return token.reveal()
  if (tokenFile === undefined) return undefined
  try {
    return readFileSync(tokenFile, 'utf8').trim()
  } catch {
    return ''
  }
}

const unknownDatabases = ({ databases }: House): string[] =>
  databases.flatMap(({ name, flavour }) => (flavour.isKnown ? [] : [`${name}: ${flavour.label}`]))

function statusOf({ databases, memory, stores }: House): object {
  return {
    memory,
    stores: stores(),
    backends: databases.map(({ name, url, flavour, modes, figures }) => {
      const { upstreams, flights, requests } = figures()
      return { name, url, flavour, upstreams, flights, ...modeOf(modes.state), requests }
    }),
  }
}

const modeOf = ({ mode, configured, isOverridden }: ModeState): object => ({
  mode,
  ...(isOverridden && { overridden: true, configuredMode: configured }),
})

function databaseOf(config: Config, { name, url, site }: House['databases'][number]) {
  const { path = '' } = config.backends[name]!.route
  return {
    queryPath: rangeQueryPath,
    explain: site.explain,
    run: runThrough(`${url}${path}`, systemClock),
  }
}
