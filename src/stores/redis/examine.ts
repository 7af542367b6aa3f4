/** The checks of `doctor` and `store check` for a Redis or Valkey server. They only read. */
import { bytesText } from '../../config/units.ts'
import type { Clock } from '../../core/clock.ts'
import { capital, fail, ok, warn } from '../findings.ts'
import type { Inspected, Refused, StoreFinding } from '../kind.ts'
import type { Connection } from './connection.ts'
import { connect } from './index.ts'
import type { RedisConfig } from './kind.ts'
import { troubleOf } from './trouble.ts'

/** For people who wait: longer than a request would. */
const timeoutMs = 5000

/** The oldest Redis that has every command the scripts use. */
const oldest = [6, 2] as const

type Info = ReadonlyMap<string, string>

export async function inspectRedis(config: RedisConfig, clock: Clock): Promise<Inspected | Refused> {
  return asked(config, clock, async (connection) => {
    const info = await infoOf(connection)
    return { version: versionOf(info), missing: [] }
  })
}

export async function examineRedis(config: RedisConfig, clock: Clock): Promise<readonly StoreFinding[]> {
  const found = await asked(config, clock, async (connection) => {
    const began = clock.elapsed()
    const info = await infoOf(connection)
    const ms = clock.elapsed() - began
    return [serverFinding(connection, info, ms), ...memoryFindings(info)]
  })
  return 'refused' in found ? [fail(`${capital(found.detail)}.`, found.remedy)] : found
}

/** Connects, queries, and closes; a failure returns a reason. */
async function asked<T>(
  config: RedisConfig,
  clock: Clock,
  ask: (connection: Connection) => Promise<T>,
): Promise<T | Refused> {
  const connection = await connect({ config, clock, timeoutMs })
  if ('refused' in connection) return connection
  try {
    return await ask(connection)
  } catch (error) {
    const { message } = error as Error
    const { trouble, detail, remedy } = connection.trouble ?? troubleOf(error as Error)
    // An error while connecting is more useful than the failure to send a command.
    return {
      refused: trouble,
      detail: connection.trouble ? `${connection.place} ${detail}` : message,
      remedy,
    }
  } finally {
    await connection.close()
  }
}

async function infoOf(connection: Connection): Promise<Info> {
  const text = await connection.run('read', (client) => client.call('info'))
  const lines = String(text)
    .split('\r\n')
    .filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/** Valkey also reports the version of Redis that it is compatible with. */
const versionOf = (info: Info): string => info.get('valkey_version') ?? info.get('redis_version') ?? 'unknown'

const productOf = (info: Info): string => (info.has('valkey_version') ? 'Valkey' : 'Redis')

function serverFinding(connection: Connection, info: Info, ms: number): StoreFinding {
  const text = `${capital(connection.place)} answers in ${ms.toFixed(1)} ms: ${productOf(info)} ${versionOf(info)}`
  const [major = 0, minor = 0] = (info.get('redis_version') ?? '').split('.').map(Number)
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    return fail(`${text}, which is too old.`, `Use Valkey, or Redis ${oldest.join('.')} or newer.`)
  if (info.get('role') === 'slave')
    return fail(`${text}, a replica: it takes no writes.`, 'Name the primary, or sentinels.')
  return ok(
    `${text}${connection.hasFieldTtl ? '' : ', which has no lifetime per hash field: expired rows are deleted by the next write'}.`,
  )
}

function memoryFindings(info: Info): StoreFinding[] {
  const policy = info.get('maxmemory_policy')
  const limit = Number(info.get('maxmemory'))
  if (policy === undefined || Number.isNaN(limit)) return []
  if (limit === 0)
    return [warn('It has no memory limit.', 'Set maxmemory, and maxmemory-policy to volatile-lru.')]
  const text = `It may use ${bytesText(limit)} (${policy})`
  if (policy === 'noeviction')
    return [
      warn(
        `${text}: when that is full, it refuses writes, leases and purges.`,
        'Set maxmemory-policy to volatile-lru.',
      ),
    ]
  return [ok(`${text}.`)]
}
