import assert from 'node:assert/strict'
import test from 'node:test'
import { gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { compress, negotiate, packingOf } from './encoding.ts'

for (const [accepted, encoding] of [
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['gzip, deflate, br', 'gzip'],
  ['deflate, gzip', 'deflate'],
  ['br, zstd, gzip', 'gzip'],
  ['  gzip  ', 'gzip'],
  [',,gzip', 'gzip'],
  ['br', 'identity'],
  ['*', 'identity'],
  ['identity', 'identity'],
  // Prometheus knows no q-values: with one, a name is not the name.
  ['gzip;q=0', 'identity'],
  ['gzip;q=1.0, deflate', 'deflate'],
  ['GZIP', 'identity'],
  ['x-gzip', 'identity'],
] as const) {
  test(`Accept-Encoding: ${accepted} → ${encoding}`, () => assert.equal(negotiate(accepted), encoding))
}

test('compressed bytes can be decompressed', async () => {
  const bytes = Buffer.from('windowpane'.repeat(1000))
  assert.deepEqual(gunzipSync(await compress(bytes, 'gzip')), bytes)
  assert.deepEqual(inflateSync(await compress(bytes, 'deflate')), bytes)
  assert.deepEqual(zstdDecompressSync(await compress(bytes, 'zstd')), bytes)
})

for (const [accepted, packing] of [
  [undefined, 'identity'],
  ['zstd', 'zstd'],
  ['gzip, deflate, br, zstd', 'zstd'],
  ['zstd , gzip', 'zstd'],
  ['gzip', 'gzip'],
  ['zstd;q=0, gzip', 'gzip'],
  ['x-zstd', 'identity'],
] as const) {
  test(`our own answer to Accept-Encoding: ${accepted} → ${packing}`, () =>
    assert.equal(packingOf(accepted), packing))
}
