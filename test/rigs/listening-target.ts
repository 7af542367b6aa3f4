/** A client that takes everything and remembers it. */
import type { StreamTarget } from '../../src/engine/ports.ts'

export class ListeningTarget implements StreamTarget {
  readonly encoding = 'identity'
  unsent = 0
  status = 0
  text = ''
  /** How the answer ended, once it has. */
  ending: 'whole' | 'broken' | undefined

  head(status: number): void {
    this.status = status
  }

  write(chunk: Uint8Array): boolean {
    this.text += Buffer.from(chunk).toString('latin1')
    return true
  }

  onDrain(resume: () => void): void {
    resume()
  }

  end(): void {
    this.ending = 'whole'
  }

  abort(): void {
    this.ending = 'broken'
  }
}
