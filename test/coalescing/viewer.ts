/** A viewer with a connection of its own, which may disconnect, and which detects truncated answers. */
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface Answer {
  /** 0 where the connection was closed before any answer. */
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** False where the connection broke off before the end that the head had announced. */
  readonly isWhole: boolean
}

export interface Visit {
  readonly answer: Promise<Answer>
  /** The answer as soon as its head is there; it is not read any further than the buffers are wide. */
  readonly head: Promise<IncomingMessage>
  hangUp(): void
}

export function visit(url: string, headers: Readonly<Record<string, string>> = {}, isReading = true): Visit {
  const sent = request(url, { agent: false, headers })
  const head = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve)
    sent.once('error', reject)
  })
  const answer = head.then(
    (message) => (isReading ? read(message) : nothing),
    () => nothing,
  )
  sent.end()
  return { answer, head, hangUp: () => void sent.destroy() }
}

const nothing: Answer = { status: 0, headers: {}, body: '', isWhole: false }

export async function read(message: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch {
    // The received part is kept; `complete` is false.
  }
  const body = Buffer.concat(chunks).toString()
  return { status: message.statusCode!, headers: message.headers, body, isWhole: message.complete }
}

/** `partial/expired` of `windowpane; fwd=partial; detail="partial/expired asked=4 buckets=720"`. */
export function outcomeOf({ headers }: Answer): string {
  return /detail="([^ "]*)/.exec(String(headers['cache-status'] ?? ''))?.[1] ?? 'none'
}

export const isCollapsed = ({ headers }: Answer): boolean =>
  String(headers['cache-status'] ?? '').includes('collapsed')
