/** Readers of request bodies that remember their results, because dashboards repeat their requests. */
import { bufferOf } from '../../core/bytes.ts'
import { BytesMemo, Memo } from '../../core/memo.ts'
import type { WireRequest } from '../backend.ts'
import type { Bypass } from './reasons.ts'
import { type BodyKind, bodyKindOf } from './sql-body.ts'
import { bodyTextOf } from './wire.ts'

export const remembered = { maxTexts: 4_000, maxCharacters: 4 << 20 }
/** Longer bodies are read each time. */
export const longestRemembered = 16 << 10

/** Of native queries: by the bytes of the body. */
export function rememberNative<T>(read: (text: string) => T | Bypass): (body: Uint8Array) => T | Bypass {
  const readBytes = (bytes: Buffer): T | Bypass => {
    const text = bodyTextOf({ body: bytes })
    return typeof text === 'string' ? read(text) : text
  }
  const memo = new BytesMemo({ maxEntries: 4_000, maxBytes: 4 << 20 }, readBytes)
  return (body) => {
    const bytes = bufferOf(body)
    return bytes.length <= longestRemembered ? memo.get(bytes) : readBytes(bytes)
  }
}

/** Of SQL: by the kind and the text of the body. */
export function rememberSql<T>(
  read: (kind: BodyKind, text: string) => T | Bypass,
): (request: WireRequest) => T | Bypass {
  const memoOf = (kind: BodyKind) => new Memo(remembered, (text) => read(kind, text))
  const memos = { json: memoOf('json'), text: memoOf('text'), form: memoOf('form') }
  return (request) => {
    const kind = bodyKindOf(request)
    if (typeof kind !== 'string') return kind
    const text = bodyTextOf(request)
    if (typeof text !== 'string') return text
    return text.length <= longestRemembered ? memos[kind].get(text) : read(kind, text)
  }
}
