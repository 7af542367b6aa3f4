/** Backends are added, changed and removed by a reload, under traffic and with workers. As a process. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { ask, outcomeOf } from '../proxy/client.ts'
import { rangePath } from '../proxy/matrix.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { eventually } from '../wait.ts'
import { adminAddress, type Child, readyAddress, startCommand } from './child.ts'

const start = Date.UTC(2026, 0, 1)
const path = rangePath({ start, end: start + 600_000 })

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'windowpane-backends-'))
  t.after(() => rm(made, { recursive: true, force: true }))
  return made
}

interface Rig {
  readonly child: Child
  readonly url: string
  readonly admin: string
  readonly place: string
  /** Writes the backends of the configuration and reloads: the status and the message. */
  reload(backends: string, more?: string): Promise<{ readonly status: number; readonly message: string }>
}

async function startRig(t: TestContext, workers: number, backends: string): Promise<Rig> {
  const place = await folder(t)
  const file = join(place, 'windowpane.yaml')
  const usual = `listen: 127.0.0.1:0\nworkers: ${workers}\nadmin: { listen: '127.0.0.1:0', allowWrites: true }\n`
  const write = (text: string, more = '') => writeFile(file, `${usual}${more}backends:\n${text}`)
  await write(backends)
  const child = startCommand(t, ['--config', file])
  const url = await readyAddress(child)
  const admin = await adminAddress(child)
  const reload = async (text: string, more = '') => {
    await write(text, more)
    const answer = await fetch(`${admin}/-/reload`, { method: 'POST' })
    return { status: answer.status, message: await answer.text() }
  }
  return { child, url, admin, place, reload }
}

const line = (name: string, { url }: ScriptedUpstream, more = ''): string =>
  `  ${name}: { url: '${url}'${more === '' ? '' : `, ${more}`} }\n`

const reloaded = { status: 200, message: 'the configuration was reloaded\n' }

/** Clients that send requests without a pause until they are stopped; every response must be 200. */
function traffic(url: string, paths: readonly string[]) {
  let isOver = false
  let count = 0
  const client = async (ask1: string) => {
    while (!isOver) {
      const answer = await ask(url, ask1)
      assert.equal(answer.status, 200, answer.body.toString())
      count++
    }
  }
  const clients = paths.map(client)
  return {
    async stop(): Promise<number> {
      isOver = true
      await Promise.all(clients)
      return count
    },
  }
}

const bodyOf = async (url: string, at: string): Promise<string> => (await ask(url, at)).body.toString()

for (const workers of [1, 2]) {
  test(`backends come, change and go while requests are under way, with ${workers} worker(s)`, async (t) => {
    const [one, two, three] = await Promise.all([1, 2, 3].map(() => startScriptedUpstream(t)))
    for (const [i, upstream] of [one!, two!, three!].entries()) upstream.generation = i + 1
    const main = line('main', one!)
    const { child, url, admin, place, reload } = await startRig(t, workers, main)
    await ask(url, path)
    const running = traffic(url, [path, rangePath({ start, end: start + 1_200_000 })])
    const seen = one!.seen.length

    assert.deepEqual(await reload(main + line('other', two!, 'route: { path: /other }')), reloaded)
    assert.match(await bodyOf(url, `/other${path}`), /,"2"\]/)

    // Another URL is another database: cached buckets of the old one are not served.
    assert.deepEqual(await reload(main + line('other', three!, 'route: { path: /other }')), reloaded)
    for (let i = 0; i < 4; i++) assert.match(await bodyOf(url, `/other${path}`), /,"3"\]/)

    assert.deepEqual(await reload(main + line('other', three!, 'route: { path: /moved }')), reloaded)
    assert.match(await bodyOf(url, `/moved${path}`), /,"3"\]/)

    // A store and an address of its own.
    const store = `stores: { disk: { type: lmdb, path: '${join(place, 'disk')}' } }\n`
    const own = line('other', three!, "store: disk, listen: '127.0.0.1:0'")
    const socket = join(place, 'other.sock')
    assert.deepEqual(await reload(main + own.replace("'127.0.0.1:0'", `'unix:${socket}'`), store), reloaded)
    const status = await (await fetch(`${admin}/-/status`)).json()
    const { stores, backends } = status as Record<'stores' | 'backends', { name: string; url: string }[]>
    assert.deepEqual(
      [stores!.map(({ name }) => name), backends!.map((each) => each.url)],
      [
        ['memory', 'disk'],
        [url, `unix:${socket}`],
      ],
    )

    assert.deepEqual(await reload(main), reloaded)
    assert.match(await bodyOf(url, `/moved${path}`), /,"1"\]/)
    const storesOf = async () =>
      ((await (await fetch(`${admin}/-/status`)).json()) as { stores: { name: string }[] }).stores
    // The store is closed when it is no longer used.
    await eventually(storesOf, (open) => open.length === 1)

    assert.ok((await running.stop()) > 0)
    // The cache of the backend that did not change was not lost: the second window was fetched once, by one worker at a time.
    assert.ok(one!.seen.length - seen <= 3, `${one!.seen.length - seen} fetches`)
    assert.equal(outcomeOf(await ask(url, path)), 'hit')
    child.process.kill('SIGTERM')
    assert.equal(await child.exit, 0, child.err())
  })

  test(`a request under way finishes on the old backend, with ${workers} worker(s)`, async (t) => {
    const [one, two] = await Promise.all([startScriptedUpstream(t), startScriptedUpstream(t)])
    two.generation = 2
    const { url, reload } = await startRig(t, workers, line('main', one))
    const { script } = one
    const held = Promise.withResolvers<void>()
    one.script = (request, response) => void held.promise.then(() => script(request, response))
    const arrived = one.next()
    const slow = ask(url, path)
    await arrived
    assert.deepEqual(await reload(line('main', two)), reloaded)
    assert.match(await bodyOf(url, rangePath({ start, end: start + 60_000 })), /,"2"\]/)
    held.resolve()
    const answer = await slow
    assert.equal(answer.status, 200)
    assert.match(answer.body.toString(), /,"1"\]/)
    // Buckets of the old database are not served.
    assert.match(await bodyOf(url, path), /,"2"\]/)
  })

  test(`what cannot be applied changes nothing, with ${workers} worker(s)`, async (t) => {
    const [one, two] = await Promise.all([startScriptedUpstream(t), startScriptedUpstream(t)])
    two.generation = 2
    const { url, reload, place } = await startRig(t, workers, line('main', one))
    await ask(url, path)
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    t.after(() => taken.close())
    const { port } = taken.address() as { port: number }
    const busy = await reload(line('main', two) + line('other', two, `listen: '127.0.0.1:${port}'`))
    assert.equal(busy.status, 422)
    assert.match(busy.message, /cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/)
    await writeFile(join(place, 'file'), '')
    const store = `stores: { disk: { type: lmdb, path: '${join(place, 'file', 'disk')}' } }\n`
    const noStore = await reload(line('main', two, 'store: disk'), store)
    assert.equal(noStore.status, 422)
    assert.match(noStore.message, /stores\.disk cannot be opened/)
    const answer = await ask(url, path)
    assert.match(answer.body.toString(), /,"1"\]/)
    assert.equal(outcomeOf(answer), 'hit')
    assert.deepEqual(await reload(line('main', two)), reloaded)
    assert.match(await bodyOf(url, path), /,"2"\]/)
  })
}
