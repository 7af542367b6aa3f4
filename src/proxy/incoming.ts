/** What a client sent, as the backend reads it. */
import type { IncomingMessage } from 'node:http'
import type { HeaderList, WireRequest } from '../backends/backend.ts'

export interface Incoming extends Omit<WireRequest, 'body'> {}

/** Undefined where the request target cannot be forwarded. */
export function readTarget(message: IncomingMessage): Incoming | undefined {
  const target = originForm(message.url ?? '')
  if (target === undefined) return undefined
  const mark = target.indexOf('?')
  return {
    method: message.method ?? 'GET',
    path: mark < 0 ? target : target.slice(0, mark),
    search: mark < 0 ? '' : target.slice(mark + 1),
    headers: lowerCaseNames(message.rawHeaders),
  }
}

/** Clients of a forward proxy send the whole URL; its path is what counts. */
function originForm(target: string): string | undefined {
  if (target.startsWith('/')) return target
  const match = /^https?:\/\/[^/?#]*([^#]*)/i.exec(target)
  if (match === null) return undefined
  return match[1]!.startsWith('/') ? match[1] : `/${match[1]}`
}

function lowerCaseNames(raw: readonly string[]): HeaderList {
  const list = new Array<string>(raw.length)
  for (let i = 0; i < raw.length; i += 2) {
    list[i] = raw[i]!.toLowerCase()
    list[i + 1] = raw[i + 1]!
  }
  return list
}

/** The whole body, or undefined where it is longer than allowed. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

export function hasBody(headers: HeaderList): boolean {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'transfer-encoding') return true
    if (headers[i] === 'content-length' && headers[i + 1] !== '0') return true
  }
  return false
}
