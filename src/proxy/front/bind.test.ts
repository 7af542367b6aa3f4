import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { systemClock as clock } from '../../core/clock.ts'
import { WindowpaneError } from '../../core/errors.ts'
import { defaultLimits as limits } from '../limits.ts'
import { bind } from './bind.ts'

test('a server goes on after errors of single connections, on a port and on a unix socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'windowpane-bind-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const address of ['127.0.0.1:0', `unix:${join(folder, 'a.sock')}`]) {
    const server = createServer()
    t.after(() => server.close())
    const { release } = await bind(server, { address, limits, clock })
    for (let i = 0; i < 3; i++) server.emit('error', new Error('accept ENOMEM'))
    assert.ok(server.listening)
    await release()
  }
})

test('an address that is taken is refused with its flag', async (t) => {
  const [first, second] = [createServer(), createServer()]
  t.after(() => first.close())
  const { url } = await bind(first, { address: '127.0.0.1:0', limits, clock })
  await assert.rejects(bind(second, { address: new URL(url).host, limits, clock }), (error) => {
    assert.ok(error instanceof WindowpaneError)
    return (
      error.code === 'WINDOWPANE_LISTEN_FAILED' && error.remedy === 'Choose another address with --listen.'
    )
  })
})
