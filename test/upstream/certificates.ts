/** Certificates made for one test run with the openssl of the machine. Tests that need them skip where there is none. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { skipReason } from '../servers/availability.ts'

export interface KeyPair {
  /** Paths of PEM files. */
  readonly cert: string
  readonly key: string
}

export interface Authority extends KeyPair {
  /** A certificate of this authority. */
  issue(name: string, options?: IssueOptions): KeyPair
}

interface IssueOptions {
  /** As in a subjectAltName extension. */
  readonly names?: string
  readonly isExpired?: boolean
}

const program = 'openssl'
export const openssl = spawnSync(program, ['version']).status === 0
const missing = { unavailable: 'there is no openssl to make certificates with' }
export const needsOpenssl = { skip: skipReason(openssl || missing) }

export const folder = mkdtempSync(join(tmpdir(), 'windowpane-upstream-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const run = (...args: string[]): void => void execFileSync(program, args, { stdio: 'pipe' })
const at = (file: string): string => join(folder, file)
const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
const localNames = 'DNS:localhost,IP:127.0.0.1'

export function authority(name: string): Authority {
  const own = { cert: at(`${name}.pem`), key: at(`${name}.key`) }
  run('req', '-x509', ...curve, '-days', '100', '-subj', `/CN=${name}`, '-keyout', own.key, '-out', own.cert)
  return { ...own, issue: (leaf, options = {}) => issue(own, `${name}-${leaf}`, options) }
}

function issue(signer: KeyPair, name: string, { names = localNames, isExpired }: IssueOptions): KeyPair {
  const pair = { cert: at(`${name}.pem`), key: at(`${name}.key`) }
  const request = at(`${name}.csr`)
  const extensions = at(`${name}.ext`)
  writeFileSync(extensions, `subjectAltName=${names}\n`)
  run('req', '-new', ...curve, '-subj', `/CN=${name}`, '-keyout', pair.key, '-out', request)
  const validity = isExpired === true ? ['-days', '-1'] : ['-days', '50']
  const by = ['-CA', signer.cert, '-CAkey', signer.key, '-CAcreateserial', '-extfile', extensions]
  run('x509', '-req', '-in', request, ...by, ...validity, '-out', pair.cert)
  return pair
}
