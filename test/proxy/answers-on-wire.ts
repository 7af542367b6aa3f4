/** Answers as they came over one connection, taken apart. */
import assert from 'node:assert/strict'

export interface WireAnswer {
  readonly status: string
  readonly headers: readonly string[]
  readonly body: string
}

/** `methods`: of the requests, since an answer to HEAD has no body. */
export function answersOnWire(bytes: Buffer, methods: readonly string[]): WireAnswer[] {
  const answers: WireAnswer[] = []
  let rest = bytes.toString('latin1')
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    assert.ok(end > 0, `the end of a head in ${JSON.stringify(rest.slice(0, 200))}`)
    const [status = '', ...headers] = rest.slice(0, end).split('\r\n')
    rest = rest.slice(end + 4)
    let body = ''
    const length = headers.map((line) => /^content-length: (\d+)$/i.exec(line)?.[1]).find(Boolean)
    const isChunked = headers.some((line) => /^transfer-encoding: chunked$/i.test(line))
    if (methods[answers.length] === 'HEAD') body = ''
    else if (isChunked) [body, rest] = unchunked(rest)
    else if (length !== undefined) {
      body = rest.slice(0, Number(length))
      assert.equal(body.length, Number(length), 'a whole body')
      rest = rest.slice(body.length)
    }
    answers.push({ status, headers, body })
  }
  return answers
}

function unchunked(text: string): [string, string] {
  let [body, rest] = ['', text]
  for (;;) {
    const line = rest.slice(0, rest.indexOf('\r\n'))
    assert.match(line, /^[0-9a-f]+$/i)
    const size = Number.parseInt(line, 16)
    const start = line.length + 2
    body += rest.slice(start, start + size)
    rest = rest.slice(start + size + 2)
    if (size === 0) return [body, rest]
  }
}
