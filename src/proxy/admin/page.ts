/** A page of the admin listener: its methods, who may use it, and its answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminAnswer } from './answer.ts'

export interface AdminCall {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** As requested, without the query. */
  readonly path: string
  readonly parameters: URLSearchParams
  readonly body: Buffer
}

export interface Page {
  readonly methods: readonly string[]
  readonly about: string
  /** Needs no token: for probes; it reveals no client's data. */
  readonly isOpen?: boolean
  /** Answers for everything below its path, which ends in a slash. */
  readonly isFolder?: boolean
  /** Changes something: only where writes are allowed. */
  readonly isWriting?: boolean | ((parameters: URLSearchParams, method: string) => boolean)
  /** The longest body; 1 MiB by default. */
  readonly maxBodyBytes?: number
  /** `taken`: the page answers by itself. */
  answer(call: AdminCall): AdminAnswer | 'taken' | Promise<AdminAnswer | 'taken'>
}

/** By path. */
export type Pages = Readonly<Record<string, Page>>

export const get = (about: string, answer: Page['answer']): Page => ({ methods: ['GET'], about, answer })

export const post = (about: string, answer: Page['answer']): Page => ({ methods: ['POST'], about, answer })

/** A POST that changes something. */
export const change = (about: string, answer: Page['answer']): Page => ({
  ...post(about, answer),
  isWriting: true,
})
