/** Responses of the admin listener: text, JSON, a list in pieces, an error. */

export interface AdminAnswer {
  readonly status: number
  readonly type: string
  /** Written one after the other. */
  readonly body: Iterable<string>
  readonly headers?: Readonly<Record<string, string>>
}

export const text = (status: number, line: string): AdminAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: [`${line}\n`],
})

export const json = (value: unknown, status = 200): AdminAnswer => ({
  status,
  type: 'application/json',
  body: [`${JSON.stringify(value, null, 2)}\n`],
})

/** A long list in pieces. */
export const jsonList = (items: readonly object[]): AdminAnswer => ({
  status: 200,
  type: 'application/json',
  body: piecesOf(items),
})

const itemsPerPiece = 50

function* piecesOf(items: readonly object[]): Iterable<string> {
  for (let i = 0; i < items.length; i += itemsPerPiece) {
    const piece = items.slice(i, i + itemsPerPiece).map((item) => JSON.stringify(item))
    yield `${i === 0 ? '[\n' : ',\n'}${piece.join(',\n')}`
  }
  yield items.length === 0 ? '[]\n' : '\n]\n'
}

export const failure = (status: number, sentence: string): AdminAnswer =>
  text(status, `windowpane: ${sentence}`)

export const mistake = (sentence: string): AdminAnswer => failure(400, sentence)
