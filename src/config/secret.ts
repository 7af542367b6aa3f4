/** A value that prints as stars wherever it ends up: in text, in JSON, in a debugger's line. */
import { inspect } from 'node:util'
import { stars } from '../core/secrets.ts'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The only way to the value. */
  reveal(): string {
    return this.#value
  }

  equals(other: Secret): boolean {
    return this.#value === other.#value
  }

  toString(): string {
    return stars
  }

  toJSON(): string {
    return stars
  }

  [inspect.custom](): string {
    return stars
  }
}
