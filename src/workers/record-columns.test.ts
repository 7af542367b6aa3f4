import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RequestRecord } from '../telemetry/record.ts'
import { RecordWriter, recordsIn } from './record-columns.ts'

const instant = fc.double({ noNaN: true })
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined })
const text = fc.constantFrom('main', 'GET', '', 'up{job="x"}', 'toString', 'ünï')
const plain = { noNullPrototype: true }
const source = fc.constantFrom('cache', 'origin', 'missing')
const run = fc.record({ source, from: instant, to: instant }, plain)

const fields = {
  ...{ at: instant, backend: text, method: text, outcome: fc.constantFrom('hit', 'miss', 'error') },
  ...{ reason: maybe(fc.constantFrom('absent', 'internal')), detail: maybe(text), shape: text },
  ...{ key: maybe(text), stepMs: instant, phaseMs: instant },
  calendar: maybe(fc.constant({ unit: 'month', count: 1, zone: 'Europe/Berlin', origin: 0 } as const)),
  ...{
    from: instant,
    to: instant,
    buckets: fc.nat(),
    gapFrom: instant,
    gapTo: instant,
    gapBuckets: fc.nat(),
  },
  ...{ knownFrom: instant, knownTo: instant, missingBuckets: fc.nat(), pieces: maybe(fc.array(run)) },
  ...{ asked: fc.nat(), bytes: fc.nat(), status: fc.nat(599), upstreamStatus: maybe(fc.nat(599)) },
  ...{ planMs: instant, lookupMs: instant, fetchMs: instant, totalMs: instant },
  ...{ ageSeconds: maybe(fc.nat()), ttlSeconds: maybe(fc.integer()) },
  ...{ isForwarded: fc.boolean(), isCollapsed: fc.boolean(), isStored: fc.boolean() },
  unstored: maybe(fc.constantFrom('vary', 'private')),
  endpoint: maybe(fc.constantFrom('labels', 'instant')),
}
const records: fc.Arbitrary<RequestRecord> = fc.record(fields, plain)

test('records come out of a message as they went in, batch after batch', () => {
  fc.assert(
    fc.property(fc.array(fc.array(records, { maxLength: 5 }), { maxLength: 3 }), (batches) => {
      const writer = new RecordWriter(5)
      for (const batch of batches) {
        for (const record of batch) writer.add(record)
        assert.equal(writer.count, batch.length)
        assert.deepEqual([...recordsIn(structuredClone(writer.drain()))], batch)
      }
    }),
  )
})

test('a text is sent once, and the message is no longer than needed', () => {
  const [record] = fc.sample(records, 1)
  const writer = new RecordWriter(500)
  for (let i = 0; i < 3; i++) writer.add({ ...record!, shape: 'the same', detail: undefined })
  const { texts, numbers, count } = writer.drain()
  assert.equal(texts.filter((each) => each === 'the same').length, 1)
  assert.equal(count, 3)
  assert.equal(numbers.buffer.byteLength, numbers.byteLength)
  assert.equal(writer.drain().texts.length, 0)
})
