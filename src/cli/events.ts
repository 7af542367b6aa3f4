/** Server-sent events, as far as the admin listener speaks them. */

export interface ServerEvent {
  readonly id: string
  readonly name: string
  readonly data: string
}

/** One event is a small record: a server that sends more without an end is no admin listener. */
const maxEventChars = 1024 * 1024

export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncIterable<ServerEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = blocks.pop()!
    if (rest.length > maxEventChars) throw new Error('an event has no end')
    for (const block of blocks) {
      const event = eventOf(block)
      if (event.data !== '') yield event
    }
  }
}

function eventOf(block: string): ServerEvent {
  const fields = { id: '', event: 'message', data: '' }
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(id|event|data): ?(.*)$/.exec(line) ?? []
    if (name !== '') fields[name as keyof typeof fields] = value
  }
  return { id: fields.id, name: fields.event, data: fields.data }
}
