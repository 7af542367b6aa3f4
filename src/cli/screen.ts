/** A picture that is redrawn in place on a terminal, and restores the former content. */
import type { CommandIo } from './command.ts'

const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const home = '\u001b[H'
const clearLine = '\u001b[K'
const clearBelow = '\u001b[J'

export class Screen {
  readonly #io: CommandIo
  #isOpen = false

  constructor(io: CommandIo) {
    this.#io = io
  }

  /** One write, every line cleared to its end: nothing flickers. */
  draw(lines: readonly string[]): void {
    const rows = this.#io.terminal?.rows() ?? lines.length
    const shown = lines.slice(0, rows - 1).map((line) => line + clearLine)
    this.#io.out(`${this.#isOpen ? '' : enter}${home}${shown.join('\r\n')}${clearBelow}`)
    this.#isOpen = true
  }

  close(): void {
    if (this.#isOpen) this.#io.out(leave)
    this.#isOpen = false
  }
}
