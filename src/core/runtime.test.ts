/**
 * Behaviour that we rely on beyond the documentation of Node and V8: one test each. If one fails, switch the feature
 * off (section `runtime`).
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import {
  type AddressInfo,
  connect,
  createServer as createNetServer,
  type Server,
  type Socket,
} from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { scheduler } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import {
  bufferCollector,
  garbageCollector,
  hasKnownHeapFlags,
  replaceHttpReader,
  TappedMessage,
  writeQueueOf,
} from './runtime.ts'

/** Resolves to a client's socket, connected to the server. */
async function clientOf(t: TestContext, server: Server): Promise<Socket> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(client, 'connect')
  t.after(() => {
    client.destroy()
    server.close()
  })
  return client
}

const anything: RequestListener = (_request, response) => void response.end('ok')

test("node:http's reader is the only data listener; it emits the request before it returns", async (t) => {
  const server = createServer(anything)
  const order: string[] = []
  server.on('request', ({ url }) => order.push(`request ${url}`))
  server.on('clientError', (_, socket) => {
    order.push('left unfinished')
    socket.destroy()
  })
  server.on('connection', (socket) => {
    const read = (bytes: Buffer) => {
      order.push('bytes')
      httpReader!(bytes)
      order.push('read')
    }
    const httpReader = replaceHttpReader(socket, read, () => order.push('ended'))
    assert.ok(httpReader)
  })
  const client = await clientOf(t, server)
  client.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n')
  await once(client, 'data')
  assert.deepEqual(order.splice(0), ['bytes', 'request /a', 'read'])
  client.end('GET /b HTTP/1.1\r\n')
  await once(client, 'close')
  assert.deepEqual(order, ['bytes', 'read', 'ended', 'left unfinished'])
})

test('a socket with other listeners is left alone', async (t) => {
  const server = createServer(anything)
  const replaced: unknown[] = []
  server.on('connection', (socket) => {
    socket.on('data', () => {})
    const notHere = () => assert.fail('it is not read here')
    replaced.push(replaceHttpReader(socket, notHere, notHere))
  })
  const client = await clientOf(t, server)
  client.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n')
  assert.match(String(await once(client, 'data')), /^HTTP\/1\.1 200 OK/)
  assert.deepEqual(replaced, [undefined])
})

test('the parser of node:http hands a body over by push, with null at its end', async (t) => {
  const chunks: unknown[] = []
  const server = createServer({ IncomingMessage: TappedMessage }, (request, response) => {
    request.tapBody((chunk) => {
      chunks.push(chunk === null ? null : String(chunk))
      if (chunk === null) response.end('ok')
      return true
    })
  })
  const client = await clientOf(t, server)
  client.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody')
  await once(client, 'data')
  assert.deepEqual(chunks, ['body', null])
})

test('the write queue gets shorter within one write, as the client takes it', async (t) => {
  const server = createNetServer()
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = await clientOf(t, server)
  client.pause()
  const [socket] = await accepted
  socket.on('error', () => {})
  const bytes = 64 * 2 ** 20
  socket.write(Buffer.alloc(bytes))
  const before = writeQueueOf(socket)!
  assert.ok(before > bytes / 2, `${before} bytes wait`)
  client.resume()
  while (client.bytesRead < bytes / 4) await scheduler.yield()
  client.pause()
  const after = writeQueueOf(socket)!
  assert.ok(after > 0 && after < before, `${before}, then ${after} bytes wait`)
  socket.destroy()
})

/**
 * Prints how many full collections 2 GiB of buffers cause beside 100 MiB that stay. V8 applies the growth from its first
 * full collection on, and short-lived buffers are freed without any.
 */
const collecting = (percent: number) => `
  import { PerformanceObserver, constants } from 'node:perf_hooks'
  import { countBuffersAsHeap, garbageCollector, setHeapGrowth } from ${JSON.stringify(new URL('./runtime.ts', import.meta.url).href)}
  setHeapGrowth(${percent})
  countBuffersAsHeap()
  let collections = 0
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
  }).observe({ entryTypes: ['gc'] })
  const kept = Buffer.alloc(100 << 20)
  const latest = []
  garbageCollector()()
  for (let i = 0; i < 2048; i++) {
    latest[i % 64] = Buffer.alloc(1 << 20)
    if (i % 8 === 0) await new Promise(setImmediate)
  }
  await new Promise(setImmediate)
  process.stdout.write(String(collections + kept[0]))
`

test('V8 collects buffers after the growth that is set', { skip: !hasKnownHeapFlags() }, () => {
  const collections = (percent: number): number => {
    const args = ['--input-type=module', '--eval', collecting(percent)]
    return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  }
  const [often, seldom] = [collections(20), collections(1000)]
  assert.ok(seldom > 0 && often > 2 * seldom, `${often} and ${seldom} collections`)
})

/** Prints the bytes that a heap takes beyond those in use, after half of its objects went. */
const unused = (before: string): string => `
  import { getHeapStatistics } from 'node:v8'
  import { garbageCollector, saveMemory } from ${JSON.stringify(import.meta.resolve('./runtime.ts'))}
  ${before}
  const collect = garbageCollector()
  let kept = Array.from({ length: 600_000 }, (_, i) => ({ i, both: [i, i] }))
  collect()
  collect()
  kept = kept.filter(({ i }) => i % 2 === 0)
  for (let i = 0; i < 30; i++) collect()
  const { total_physical_size: all, used_heap_size: used } = getHeapStatistics()
  process.stdout.write(String(all - used + 0 * kept.length))
`

test('collections compact the heap where memory is to be saved', { skip: !hasKnownHeapFlags() }, () => {
  const bytes = (before: string): number => {
    const args = ['--max-semi-space-size=1', '--input-type=module', '--eval', unused(before)]
    return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  }
  const [saved, usual] = [bytes('saveMemory()'), bytes('')]
  assert.ok(3 * saved < usual, `${saved} instead of ${usual} bytes unused`)
})

const youngest = (before: string): string => `
  import { Worker } from 'node:worker_threads'
  import { heedYoungLimits } from ${JSON.stringify(import.meta.resolve('./runtime.ts'))}
  ${before}
  new Worker(\`
    import { getHeapSpaceStatistics } from 'node:v8'
    let [kept, most] = [[], 0]
    for (let i = 0; i < 2e6; i++) {
      kept.push({ i })
      if (kept.length > 2e5) kept = []
      if (i % 1e4 === 0) most = Math.max(most, getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size)
    }
    process.stdout.write(String(most))
  \`, { eval: true, resourceLimits: { maxYoungGenerationSizeMb: 3 } })
`

test('the young generation of a thread is as large as its limits say, whatever the process was started with', () => {
  const most = (before: string): number => {
    const args = ['--max-semi-space-size=8', '--input-type=module', '--eval', youngest(before)]
    return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
  }
  const MiB = 1024 * 1024
  assert.ok(most('heedYoungLimits()') <= 4 * MiB)
  assert.ok(most('') > 4 * MiB, 'V8 heeds the limits of a thread by itself now')
})

test('gc collects unreachable buffers', async () => {
  const collect = garbageCollector()
  const dropped = new WeakRef({ some: 'object' })
  await collect({ type: 'major', execution: 'async' })
  while (dropped.deref() !== undefined) {
    await scheduler.yield()
    collect()
  }
})

test('buffers are freed before a collection of them returns', () => {
  const collect = bufferCollector()
  collect()
  const before = getHeapStatistics().external_memory
  const make = (): void => {
    for (let i = 0; i < 64; i++) Buffer.allocUnsafeSlow(2 ** 20).fill(1)
  }
  make()
  collect()
  const left = getHeapStatistics().external_memory - before
  // The stack may still hold one.
  assert.ok(left <= 4 * 2 ** 20, String(left))
})

test('no other file relies on internals', () => {
  const internals =
    /\b_handle\b|\b_closed\b|(?<!super)\._[a-z]|setFlagsFromString|runInNewContext|process\.binding|isteners?\('(?:data|end)'|\.on(?:ce)?\('socket'/
  const root = join(import.meta.dirname, '..')
  const files = globSync('**/*.ts', { cwd: root }).filter((path) => !path.startsWith(join('core', 'runtime')))
  const found = files.filter((path) => internals.test(readFileSync(join(root, path), 'utf8')))
  assert.deepEqual(found, [])
})
