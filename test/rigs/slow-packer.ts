/** A packer for tests: it packs at once, but resolves only when it is released. */
import { ownMemory } from '../../src/core/bytes.ts'
import type { Packer } from '../../src/stores/memory/cold.ts'

/** Its output is very short: it only stores a reference to the input. */
export class SlowPacker implements Packer {
  readonly smallest: number = 0
  readonly longestNow: number
  readonly #kept: Buffer[] = []
  readonly #waiting: (() => void)[] = []
  isLetting = true
  isBroken = false
  packed = 0
  unpacked = 0
  /** Called whenever something is under way. */
  onWork: () => void = () => {}

  constructor(longestNow = 256 * 1024) {
    this.longestNow = longestNow
  }

  get waiting(): number {
    return this.#waiting.length
  }

  pack(bytes: Buffer): Promise<Buffer> {
    this.packed++
    this.onWork()
    this.#kept.push(Buffer.from(bytes))
    const note = Buffer.allocUnsafeSlow(4)
    note.writeUInt32LE(this.#kept.length - 1)
    return this.#later(() => note)
  }

  unpack(packed: Buffer): Promise<Buffer> {
    this.onWork()
    return this.#later(() => this.unpackNow(packed))
  }

  unpackNow(packed: Buffer): Buffer {
    this.unpacked++
    this.onWork()
    if (this.isBroken) throw new Error('broken')
    return ownMemory(this.#kept[packed.readUInt32LE()]!)
  }

  async turn(): Promise<void> {}

  letGo(): void {
    for (const go of this.#waiting.splice(0)) go()
  }

  async #later(make: () => Buffer): Promise<Buffer> {
    if (!this.isLetting) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return make()
  }
}
