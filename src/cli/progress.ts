/** Reports on stderr that something takes longer than a second: a line that is erased again on a terminal. */
import type { CommandIo } from './command.ts'

const silentMs = 1_000
const clearLine = '\r\u001b[K'

export async function withProgress<T>(
  { clock, err, isErrTerminal }: CommandIo,
  what: string,
  work: Promise<T>,
): Promise<T> {
  let isShown = false
  const timer = clock.after(silentMs, () => {
    isShown = true
    err(isErrTerminal ? `${what} …` : `windowpane: ${what}\n`)
  })
  try {
    return await work
  } finally {
    timer.cancel()
    if (isShown && isErrTerminal) err(clearLine)
  }
}
