/** The admin listener of a running proxy, from its configuration. */
import { type KindName, kinds } from '../backends/kinds.ts'
import type { LoadedConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { leavesOf } from '../config/view.ts'
import { systemClock } from '../core/clock.ts'
import { readSecret } from '../core/credentials.ts'
import { WindowpaneError } from '../core/errors.ts'
import { iso } from '../core/text.ts'
import { type Admin, startAdmin } from '../proxy/admin/admin.ts'
import type { AdminLimits } from '../proxy/admin/limits.ts'
import { runThrough } from '../proxy/admin/run.ts'
import type { TtlDatabase } from '../proxy/admin/ttl.ts'
import { viewOfStaleness, viewOfStore } from '../proxy/admin/views.ts'
import type { ProxyServer } from '../proxy/assembly/server.ts'
import type { Fleet } from '../proxy/fleet/fleet.ts'
import { type ModeState, policiesOf } from '../proxy/request/settings.ts'
import type { SegmentFigures } from '../proxy/upstream/witness.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import type { ReloadState, Reloads } from './reload.ts'

/** Why there is no admin listener although there should be, as sentences for people. */
export interface AdminTrouble {
  readonly trouble: string
}

export interface Running {
  readonly server: ProxyServer
  readonly telemetry: Telemetry
  /** The configuration in force. */
  readonly loaded: () => LoadedConfig
  readonly reloads: Pick<Reloads, 'run' | 'state'>
  /** Where the configuration comes from: the name of its file, or `flags`. */
  readonly configuration: string
  /** The kind of each database. */
  readonly kindOf: (name: string) => KindName
  readonly fleet: Fleet
}

/** Resolves to undefined where the configuration wants none. Without one the proxy still serves. */
export async function openAdmin(running: Running): Promise<Admin | AdminTrouble | undefined> {
  const { server, telemetry, loaded, reloads, fleet } = running
  const { admin } = loaded().config
  if (!admin.enabled) return undefined
  try {
    return await startAdmin({
      listen: admin.listen,
      clock: systemClock,
      version,
      telemetry,
      token: () => tokenOf(admin),
      allowsWrites: () => admin.allowWrites,
      unready: () => silentDatabases(server),
      status: () => statusOf(running),
      config: (mode) =>
        leavesOf(loaded()).filter(({ source }) => mode === 'effective' || source !== 'default'),
      reload: () => reloads.run(),
      databases: () => new Map(server.databases.map((each) => [each.name, databaseOf(running, each)])),
      purge: server.purge,
      limits: () => (server.limiters.isActive ? adminLimitsOf(server) : undefined),
      ttl: () => ttlDatabasesOf(server),
      fleet,
      shadow: {
        log: server.shadowLog,
        get modes() {
          return new Map(server.databases.map(({ name, modes }) => [name, modes]))
        },
      },
    })
  } catch (error) {
    if (!(error instanceof WindowpaneError)) throw error
    const trouble = troubleOf(admin.listen, error)
    telemetry.log.line('warn', `there is no admin listener: ${trouble}`, { detail: error.message })
    return { trouble }
  }
}

export const ttlDatabasesOf = ({ databases }: ProxyServer): ReadonlyMap<string, TtlDatabase> =>
  new Map(
    databases.map(({ name, backendRuntime, shapesNamed, sample }) => {
      const policies = policiesOf(backendRuntime.modes.settings)
      const learning = backendRuntime.learning.learner
      return [name, { policies, learning, shapesNamed, sample }]
    }),
  )

const adminLimitsOf = ({ limiters, databases }: ProxyServer): AdminLimits => ({
  ...{ registry: limiters.registry, usage: limiters.usage },
  resources: databases.map(({ name }) => name),
  status: (entity, resource) => limiters.status(entity, resource),
  readUsage: (query) => limiters.readUsage(query),
})

/** With the consequence: commands that use the default address would reach another proxy. */
function troubleOf(address: string, { message, cause }: WindowpaneError): string {
  const isTaken = (cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE'
  const why = isTaken
    ? `${address} is taken by another process, and commands such as windowpane top and purge reach that one`
    : message
  return `${why}. The proxy serves without it; choose another address with --admin.listen HOST:PORT.`
}

/** An empty text rejects every request: a token that cannot be read must not open the listener. */
function tokenOf({ token, tokenFile }: Config['admin']): string | undefined {
  if (token !== undefined) return token.reveal()
  const read = tokenFile === undefined ? undefined : readSecret(tokenFile)
  return read && ('error' in read ? '' : read.secret.trim())
}

/** One that is not known is passed through: that is ready, too. */
const silentDatabases = ({ databases }: ProxyServer): string[] =>
  databases.flatMap(({ name, flavour, backendRuntime }) =>
    backendRuntime.isReady() ? [] : [`${name}: ${flavour.label}`],
  )

const configurationOf = ({ inForceSince, last }: ReloadState) => ({
  inForceSince: iso(inForceSince),
  ...(last && { lastReload: { at: iso(last.at), ok: last.isOk, message: last.message } }),
})

/** The part of `/-/status` that is about this process. */
export type AdminStatus = ReturnType<typeof statusOf>

function statusOf({ server, kindOf, configuration, reloads }: Running) {
  return {
    configuration: { source: configuration, ...configurationOf(reloads.state) },
    memory: server.memory,
    stores: server.stores().map(viewOfStore),
    backends: server.databases.map(
      ({ name, url, flavour, modes, figures, segments, learning, backendRuntime }) => {
        const { upstreams, flights, requests, queue, quota } = figures()
        const told = upstreams.map(({ since, ...state }) => ({ ...state, since: iso(since) }))
        const type = kindOf(name)
        const state = { ...modeOf(modes.state), ...(segments && { segments: segmentsOf(segments) }) }
        const staleness = backendRuntime.staleness()
        return {
          ...{ name, type, url, flavour, upstreams: told, flights, ...state, requests, learning: learning() },
          ...(staleness && { staleness: viewOfStaleness(staleness) }),
          ...(queue.waited + queue.length + queue.refused > 0 && { queue }),
          ...(quota && { quota }),
        }
      },
    ),
  }
}

const segmentsOf = ({ isTrusted, viewAt, ageMs, trouble, ...counts }: SegmentFigures): object => ({
  trusted: isTrusted,
  ...(viewAt !== undefined && { viewAt: iso(viewAt) }),
  ageSeconds: Math.round(ageMs / 1000),
  ...counts,
  ...(trouble !== undefined && { trouble }),
})

const modeOf = ({ mode, configured, isOverridden, heldBack }: ModeState) => ({
  mode,
  ...(heldBack !== undefined && { heldBack }),
  ...(isOverridden && { overridden: true, configuredMode: configured }),
})

function databaseOf(
  { loaded, kindOf }: Running,
  { name, url, backendRuntime }: ProxyServer['databases'][number],
) {
  const { backends, tls } = loaded().config
  const { path = '', host } = backends[name]!.route
  const address = { url, path: path.replace(/\/$/, ''), host, isSecure: tls.cert !== undefined }
  return {
    queryPath: kinds[kindOf(name)].explain.queryPath,
    explain: backendRuntime.explain,
    run: runThrough(address, systemClock),
  }
}
