/**
 * Several caches that share one store through messages, as threads do, on a fake clock: each message takes its own time,
 * and between two threads they arrive in the order in which they were sent. For tests of the engine.
 */
import { Budget } from '../../src/core/budget.ts'
import type { EpochMs } from '../../src/core/clock.ts'
import type { Mark } from '../../src/core/mark.ts'
import { Marks } from '../../src/engine/marks.ts'
import { Purge } from '../../src/engine/purge/purge.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Span } from '../../src/testing/backend-runs.ts'
import { printSpans } from '../../src/testing/cell-ranges.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import type { Random } from '../../src/testing/random.ts'
import { Directory } from '../../src/workers/cache/directory.ts'
import type { ToMainThread, ToReplica } from '../../src/workers/cache/messages.ts'
import { Replica } from '../../src/workers/cache/replica.ts'
import { ClaimTable, type FromClaimTable, RemoteClaims, type ToClaimTable } from '../../src/workers/claims.ts'
import { EngineRig, minuteMs, type Served } from './engine-rig.ts'
import { FakeDatabase } from './fake-database.ts'

const retentionMs = 86_400_000

type Upwards = ToMainThread | ToClaimTable | { readonly kind: 'done'; readonly id: number }
type Downwards =
  | ToReplica
  | FromClaimTable
  | { readonly kind: 'marks'; readonly id: number; readonly marks: readonly Mark[] }

/** One direction between two threads. */
class SlowPort<Message> {
  readonly #rig: ThreadRig
  readonly #deliver: (message: Message) => void
  #lastAt = 0
  isCut = false

  constructor(rig: ThreadRig, deliver: (message: Message) => void) {
    this.#rig = rig
    this.#deliver = deliver
  }

  send(message: Message): void {
    const { clock } = this.#rig
    // Shared memory stays shared; everything else is a copy.
    const copy = structuredClone(message)
    const at = Math.max(this.#lastAt, clock.elapsed() + this.#rig.transitMs())
    this.#lastAt = at
    clock.after(at - clock.elapsed(), () => {
      if (!this.isCut) this.#deliver(copy)
    })
  }
}

class RigThread {
  readonly id: number
  readonly up: SlowPort<Upwards>
  readonly down: SlowPort<Downwards>
  readonly replica: Replica
  readonly budget = new Budget(256 * 1024 * 1024)
  readonly engine: EngineRig

  constructor(rig: ThreadRig, id: number, inForce: readonly Mark[]) {
    const { clock, database, several } = rig
    this.id = id
    this.up = new SlowPort<Upwards>(rig, (message) => rig.receive(this, message))
    const send = (message: Upwards) => this.up.send(message)
    this.replica = new Replica({
      ...{ send, clock, budget: this.budget, maxPaneBytes: Number.POSITIVE_INFINITY },
      farStores: new Set(rig.hasFarStore ? [''] : []),
    })
    const claims = new RemoteClaims({ send, revisionOf: (key) => this.replica.revisionOf(key) })
    this.engine = new EngineRig({
      ...{ clock, database, several, budget: this.budget, claims: claims.of('') },
      wrap: () => this.replica.store(''),
    })
    const { marks } = this.engine
    marks.replaceAll(inForce)
    this.down = new SlowPort<Downwards>(rig, (message) => {
      if (message.kind === 'claimed') claims.receive(message)
      else if (message.kind === 'marks') {
        marks.replaceAll(message.marks)
        send({ kind: 'done', id: message.id })
      } else this.replica.receive(message)
    })
  }
}

export interface ThreadRigOptions {
  readonly maxTransitMs?: number
  readonly hasFarStore?: boolean
  /** The backend takes several ranges. */
  readonly several?: boolean
}

export class ThreadRig {
  readonly clock = fakeClock()
  readonly database = new FakeDatabase({ clock: this.clock })
  readonly purge: Purge
  transitMs: () => number
  /** Whether threads request absent keys from the main thread. */
  readonly hasFarStore: boolean
  readonly several: boolean
  readonly #threads: RigThread[] = []
  readonly #marks: Marks
  readonly #directory: Directory
  readonly #claims: ClaimTable
  readonly #orders = new Map<number, { thread: RigThread; done: () => void }>()
  #lastThread = 0
  #lastOrder = 0

  constructor(threads: number, random: Random, options: ThreadRigOptions = {}) {
    const { maxTransitMs = 1, hasFarStore = false, several = false } = options
    const { clock } = this
    this.several = several
    this.hasFarStore = hasFarStore
    this.transitMs = () => random() * maxTransitMs
    const memory = memoryStore({
      ...{ clock, retentionMs, budget: new Budget(256 * 1024 * 1024), maxBucketsPerShape: 100_000 },
      onChange: (key) => this.#directory.changed(key),
    })
    this.#directory = new Directory({ memory, storeOf: () => memory })
    this.#claims = new ClaimTable({
      send: (thread, message) => this.#threadOf(thread)?.down.send(message),
      isNews: (key, seen) => this.#directory.isNews(key, seen),
    })
    this.#marks = new Marks({ clock, retentionMs, onChange: (marks) => this.#broadcast(marks) })
    this.purge = new Purge(clock, [{ backend: 'cells', store: memory, marks: this.#marks }])
    for (let i = 0; i < threads; i++) this.#start(i)
  }

  get openCell(): EpochMs {
    return Math.floor(this.clock.now() / minuteMs) * minuteMs
  }

  get openClaims(): number {
    return this.#claims.count
  }

  /** Bytes that writes on their way hold, in all threads. */
  get held(): number {
    return this.#threads.reduce((sum, { budget }) => sum + budget.used, 0)
  }

  /** Which thread is in a place: another one after `kill`. */
  threadAt(place: number): number {
    return this.#threads[place]!.id
  }

  /** Requests `cells` cells of a minute from one of the threads, the last of which ends at `to`. */
  ask(place: number, cells: number, to?: EpochMs): Promise<Served> {
    return this.#threads[place]!.engine.ask(cells, to)
  }

  /** Requests ranges from one of the threads, where the backend takes several. */
  askSpans(place: number, spans: readonly Span[]): Promise<Served> {
    const { engine } = this.#threads[place]!
    return engine.serve(engine.planOf(`q=up&ranges=${printSpans(spans)}&step=${minuteMs}`))
  }

  truth(cells: number, to = this.openCell + minuteMs): string {
    return this.database.truth(to - cells * minuteMs, to, minuteMs)
  }

  /** Ends a thread where it stands; another one takes its place. */
  kill(place: number): void {
    const thread = this.#threads[place]!
    thread.up.isCut = true
    thread.down.isCut = true
    this.#directory.close(thread.id)
    this.#claims.close(thread.id)
    for (const { thread: of, done } of [...this.#orders.values()]) if (of === thread) done()
    this.#start(place)
  }

  receive(thread: RigThread, message: Upwards): void {
    if (message.kind === 'claim' || message.kind === 'release') this.#claims.receive(thread.id, message)
    else if (message.kind === 'done') this.#orders.get(message.id)?.done()
    else this.#directory.receive(thread.id, message)
  }

  #start(place: number): void {
    const thread = new RigThread(this, ++this.#lastThread, this.#marks.list())
    this.#threads[place] = thread
    this.#directory.open(thread.id, (message) => thread.down.send(message))
  }

  #threadOf(id: number): RigThread | undefined {
    return this.#threads.find((thread) => thread.id === id)
  }

  async #broadcast(marks: readonly Mark[]): Promise<void> {
    await Promise.all(
      this.#threads.map((thread) => {
        const id = ++this.#lastOrder
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#orders.set(id, { thread, done: resolve })
        thread.down.send({ kind: 'marks', id, marks })
        return promise
      }),
    )
  }
}
