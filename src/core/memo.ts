/**
 * A bounded memory of what was made from texts, because texts repeat and making is slow. Two generations, and hits write
 * nothing: a full young one becomes the old one, and the old one is dropped.
 */

export interface MemoBounds {
  readonly maxTexts: number
  readonly maxCharacters: number
}

export class Memo<T> {
  readonly #bounds: MemoBounds
  readonly #make: (text: string) => T
  #young = new Map<string, T>()
  #old = this.#young
  #characters = 0

  constructor(bounds: MemoBounds, make: (text: string) => T) {
    this.#bounds = bounds
    this.#make = make
  }

  get(text: string): T {
    const known = this.#young.get(text)
    return known === undefined ? this.#remember(copyOf(text)) : known
  }

  #remember(text: string): T {
    const value = this.#old.get(text) ?? this.#make(text)
    const { maxTexts, maxCharacters } = this.#bounds
    if (this.#young.size >= maxTexts / 2 || this.#characters + text.length > maxCharacters / 2) {
      this.#old = this.#young
      this.#young = new Map()
      this.#characters = 0
    }
    this.#characters += text.length
    this.#young.set(text, value)
    return value
  }
}

/** A string cut out of a request keeps the whole request in memory; a copy does not. */
const copyOf = (text: string): string => Buffer.from(text).toString()
