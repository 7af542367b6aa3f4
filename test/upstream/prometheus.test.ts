/** A real Prometheus with TLS, client certificates and passwords of its own (its web configuration file). */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isUnavailable, skipReason } from '../servers/availability.ts'
import { findProgram } from '../servers/debian.ts'
import { eventually } from '../wait.ts'
import { type Authority, authority, folder, needsOpenssl } from './certificates.ts'
import { pass, startUpstream } from './proxy-rig.ts'

/** Of the password "test". */
const hash = '$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay'

function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}

/** Not with startServer, which checks readiness over plain HTTP. */
async function startSecured(t: TestContext, program: string, ours: Authority): Promise<URL> {
  const home = join(folder, 'prometheus')
  mkdirSync(home)
  const { cert, key } = ours.issue('prometheus')
  const tls = `cert_file: ${cert}\n  key_file: ${key}\n  client_ca_file: ${ours.cert}`
  const web = `tls_server_config:\n  ${tls}\n  client_auth_type: RequireAndVerifyClientCert\n`
  writeFileSync(join(home, 'web.yml'), `${web}basic_auth_users:\n  admin: ${hash}\n`)
  writeFileSync(join(home, 'prometheus.yml'), '')
  const port = await freePort()
  const files = [`--config.file=${home}/prometheus.yml`, `--storage.tsdb.path=${home}/data`]
  const place = [`--web.config.file=${home}/web.yml`, `--web.listen-address=127.0.0.1:${port}`]
  const child = spawn(program, [...files, ...place], { stdio: 'ignore' })
  t.after(() => {
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    return ended
  })
  return new URL(`https://localhost:${port}`)
}

test('Prometheus with TLS, client certificates and passwords', needsOpenssl, async (t) => {
  const program = await findProgram({ package: 'prometheus' })
  if (isUnavailable(program)) return t.skip(String(skipReason(program)))
  const ours = authority('web')
  const url = await startSecured(t, program.path, ours)
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, 'test\n')
  const { cert, key } = ours.issue('windowpane')
  const tls = { ca: ours.cert, cert, key }
  const auth = { username: 'admin', passwordFile }
  const info = { path: '/api/v1/status/buildinfo' }
  const { upstream } = startUpstream(t, { url, tls, auth })
  await eventually(
    () => pass(upstream, info),
    ({ status }) => status === 200,
  )
  assert.match((await pass(upstream, info)).body, /"status":"success"/)
  writeFileSync(passwordFile, 'wrong\n')
  assert.equal((await pass(upstream, info)).status, 401)
  const bare = startUpstream(t, { url, tls: { ca: ours.cert }, auth })
  assert.match((await pass(bare.upstream, info)).broken!.detail, /it requires a client certificate/)
})
