import assert from 'node:assert/strict'
import test from 'node:test'
import { seededRandom } from '../testing/random.ts'
import { newUuid } from './uuid.ts'

test('a UUID of version 4, another one each time', () => {
  const random = seededRandom(1)
  const ids = Array.from({ length: 100 }, () => newUuid(random))
  for (const id of ids)
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(new Set(ids).size, 100)
  assert.match(
    newUuid(() => 0),
    /^0{8}-0{4}-40{3}-80{3}-0{12}$/,
  )
})
