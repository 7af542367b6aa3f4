/** The shadow log of a thread: everything that is found out goes to the main thread's. */
import { ShadowLog, type ShadowLogOptions } from '../engine/shadow/log.ts'
import type { ShadowFinding } from './messages.ts'

export class RelayedShadowLog extends ShadowLog {
  readonly #send: (found: ShadowFinding) => void

  constructor(options: ShadowLogOptions, send: (found: ShadowFinding) => void) {
    super(options)
    this.#send = send
  }

  override equal(...given: Parameters<ShadowLog['equal']>): void {
    this.#send({ kind: 'shadow', call: 'equal', given })
  }

  override skip(...given: Parameters<ShadowLog['skip']>): void {
    this.#send({ kind: 'shadow', call: 'skip', given })
  }

  override mismatch(...given: Parameters<ShadowLog['mismatch']>): void {
    this.#send({ kind: 'shadow', call: 'mismatch', given })
  }
}
