/** Holds the database back while something cannot take more of its response. */
import type { UpstreamCall } from './ports.ts'

type Obstacle = 'client' | 'decoder' | 'backlog'

export class BackPressure {
  readonly #obstacles = new Set<Obstacle>()
  #call: UpstreamCall | undefined

  /** Called once, with the result of `Upstream.send`. */
  sent(call: UpstreamCall): void {
    this.#call = call
  }

  cancel(): void {
    this.#call?.cancel()
  }

  block(obstacle: Obstacle): void {
    this.#obstacles.add(obstacle)
    this.#call?.pause(obstacle === 'client')
  }

  /** The response goes on when nothing else is in its way. */
  clear(obstacle: Obstacle): void {
    if (this.#obstacles.delete(obstacle) && this.#obstacles.size === 0) this.#call?.resume()
  }
}
