/** Panes that the main thread has decompressed are in shared memory again: a thread gets a reference, not a copy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everything, paneOf, ReplicaRig } from '../../../test/rigs/replica-rig.ts'
import { takeBodiesFrom } from '../../core/pane.ts'
import { zstd } from '../../stores/memory/cold.ts'
import { shapeOf } from '../../testing/store-laws-panes.ts'
import { sharedMemory } from '../shared-pane.ts'

test('a body that was compressed is shared as before', async () => {
  let taken = 0
  takeBodiesFrom((length) => {
    taken++
    return sharedMemory(length)
  })
  for (const longestNow of [0, 2 ** 20]) {
    const changes: (() => void)[] = []
    const harness = new ReplicaRig(1, {
      packer: { ...zstd, longestNow },
      onChange: () => changes.splice(0).forEach((go) => void go()),
    })
    const [{ replica }] = harness.replicas as [ReplicaRig['replicas'][number]]
    replica.write('', 'a', { pane: paneOf('a', { from: 0, to: 990 }, 999_000), shape: shapeOf('a') })
    await harness.settle()
    const before = await harness.read(0, 'a')
    const shown = () => replica.look('a', everything)!.panes[0]!.body
    const { id, bytes } = shown()
    await harness.clock.advance(2000)
    await harness.settle()
    const cooled = new Promise<void>((resolve) => changes.push(resolve))
    await harness.clock.advance(70_000)
    await cooled
    await harness.settle()
    assert.equal(replica.look('a', everything), undefined)
    taken = 0
    assert.deepEqual(await harness.read(0, 'a'), before)
    assert.equal(taken, 1)
    assert.ok(shown().bytes !== bytes && shown().bytes.equals(bytes))
    assert.equal(shown().id, id)
    const kept = harness.memory.held!('a')!.panes[0]!.body.bytes
    assert.ok(kept.buffer instanceof SharedArrayBuffer)
    // Written here, read there: it is the same memory.
    kept[kept.length - 1] = 77
    assert.equal(shown().bytes[kept.length - 1], 77)
  }
})
