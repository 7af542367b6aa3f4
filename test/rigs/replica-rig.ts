/** A main thread's memory and threads that hold views of it, with a test that moves the messages between them. */
import assert from 'node:assert/strict'
import { scheduler } from 'node:timers/promises'
import { Budget } from '../../src/core/budget.ts'
import type { Interval } from '../../src/core/interval.ts'
import type { Pane } from '../../src/core/pane.ts'
import { PaneBuilder } from '../../src/core/pane-builder.ts'
import type { Packer } from '../../src/stores/memory/cold.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import type { Found, Store } from '../../src/stores/store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { modelOf } from '../../src/testing/pane-model.ts'
import { Directory } from '../../src/workers/cache/directory.ts'
import type { ToMainThread, ToReplica } from '../../src/workers/cache/messages.ts'
import { Replica } from '../../src/workers/cache/replica.ts'

export const everything: Interval = { from: 0, to: 1000 }

const saying = (key: string, bucket: number, clock: number): string => `${key}${bucket}@${clock};`

export function paneOf(key: string, interval: Interval, fetchedAt: number): Pane {
  const builder = new PaneBuilder(1)
  builder.beginColumn(0, 0, Buffer.from('r'))
  builder.beginLane(0)
  let slab = ''
  for (let bucket = interval.from; bucket < interval.to; bucket++) {
    builder.bucket(bucket - interval.from, slab.length)
    slab += saying(key, bucket, fetchedAt)
  }
  builder.endLane(slab.length)
  return builder.finish({ interval, fetchedAt, slab: Buffer.from(slab) })
}

/** Bucket → clock; checks that every bucket has the content that was written at its clock. */
export function clocksIn(key: string, found: Found | undefined): Map<number, number> {
  const clocks = new Map<number, number>()
  for (const model of (found?.panes ?? []).map(modelOf)) {
    const texts = model.columns.get('r')!.lanes[0]!
    for (const [bucket, clock] of model.clocks) {
      assert.equal(texts.get(bucket), saying(key, bucket, clock))
      assert.ok(!clocks.has(bucket), 'a bucket is there twice')
      clocks.set(bucket, clock)
    }
  }
  return clocks
}

export interface ReplicaRigOptions {
  readonly limit?: number
  readonly packer?: Packer
  readonly onChange?: (key: string) => void
}

/** Queues instead of ports: the test decides which one moves next. */
export class ReplicaRig {
  readonly clock = fakeClock(1_000_000)
  readonly memory: Store
  readonly directory: Directory
  readonly replicas: { replica: Replica; budget: Budget; up: ToMainThread[]; down: ToReplica[] }[]

  /** With a packer, memory is more than half full of other data, so that keys without reads are compressed. */
  constructor(threads: number, { limit = 64 * 1024 * 1024, packer, onChange }: ReplicaRigOptions = {}) {
    const budget = new Budget(limit)
    if (packer !== undefined) assert.ok(budget.reserve(0.51 * limit))
    this.memory = memoryStore({
      ...{ clock: this.clock, budget, retentionMs: 86_400_000, maxBucketsPerShape: 10_000, threads },
      ...(packer && { packer }),
      onChange: (key) => {
        this.directory.changed(key)
        onChange?.(key)
      },
    })
    this.directory = new Directory({ memory: this.memory, storeOf: () => this.memory })
    this.replicas = Array.from({ length: threads }, (_, thread) => {
      const [up, down]: [ToMainThread[], ToReplica[]] = [[], []]
      this.directory.open(thread, (message) => down.push(structuredClone(message)))
      const budget = new Budget(limit)
      const replica = new Replica({
        ...{ clock: this.clock, budget, maxPaneBytes: limit, farStores: new Set<string>() },
        send: (message) => up.push(structuredClone(message)),
      })
      return { replica, budget, up, down }
    })
  }

  /** Delivers one message, or none where that queue is empty. */
  async deliver(thread: number, direction: 'up' | 'down'): Promise<void> {
    const { replica, up, down } = this.replicas[thread]!
    if (direction === 'up') {
      const message = up.shift()
      if (message !== undefined) this.directory.receive(thread, message)
    } else {
      const message = down.shift()
      if (message !== undefined) replica.receive(message)
    }
    await this.clock.advance(0)
  }

  async settle(): Promise<void> {
    while (this.replicas.some(({ up, down }) => up.length + down.length > 0)) {
      for (let thread = 0; thread < this.replicas.length; thread++) {
        await this.deliver(thread, 'up')
        await this.deliver(thread, 'down')
      }
    }
  }

  /** The result of a request to a thread, once all messages that it needs have arrived. */
  async read(thread: number, key: string): Promise<Map<number, number>> {
    const store = this.replicas[thread]!.replica.store('')
    store.seen!(key)
    const reading = Promise.resolve(store.read(key, everything))
    let isOver = false
    const finished = reading.finally(() => {
      isOver = true
    })
    // The main thread may have to unpack something before it answers.
    while (!isOver) {
      await this.settle()
      await scheduler.yield()
    }
    return clocksIn(key, await finished)
  }
}
