import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLocalAddress, isLoopback } from './socket-address.ts'

test('an address to listen on is local where it is a unix socket or sure to be loopback', () => {
  for (const local of [
    'unix:/run/w.sock',
    'localhost:80',
    'LOCALHOST:80',
    '127.0.0.1:80',
    '127.9.9.9:80',
    '[::1]:80',
  ])
    assert.ok(isLocalAddress(local), local)
  for (const open of [
    ':80',
    '0.0.0.0:80',
    '[::]:80',
    '10.0.0.1:80',
    '127.example:80',
    'localhost.example:80',
  ])
    assert.ok(!isLocalAddress(open), open)
  // Any resolver may have an address of the network for such a name: it only has to be loopback for those who connect to it.
  assert.ok(!isLocalAddress('admin.localhost:80'))
  assert.ok(isLoopback('admin.localhost'))
})
