/** Questions to a Druid, as small as tests want them. */
import { request } from 'undici'

export interface Answer {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
  /** Known once the body has been read, which it has. */
  readonly trailers: Record<string, string>
}

/** POST of a JSON body, or GET where there is none. */
export async function ask(url: string, body?: unknown): Promise<Answer> {
  const answer = await request(url, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json' },
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, trailers: answer.trailers }
}

/** Returns the parsed answer. @throws on any status but 200, with the server's message. */
export async function askJson<Value>(url: string, body?: unknown): Promise<Value> {
  const { status, text } = await ask(url, body)
  if (status !== 200) throw new Error(`${url} answered ${status}: ${text}`)
  return JSON.parse(text) as Value
}

/** Returns the parsed answer to a native query. */
export function askNative<Row>(brokerUrl: string, query: object): Promise<Row[]> {
  return askJson<Row[]>(`${brokerUrl}/druid/v2`, query)
}

/** Returns the rows as objects. */
export function askSql<Row>(brokerUrl: string, query: string, context: object = {}): Promise<Row[]> {
  return askJson<Row[]>(`${brokerUrl}/druid/v2/sql`, { query, context })
}
