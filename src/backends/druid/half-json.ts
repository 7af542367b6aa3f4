/** JSON that may have been cut: for texts that people read, never for decisions. */

/** The value, or as much of it as there is; undefined where it is not JSON. */
export function completed(text: string): unknown {
  return parsed(text) ?? parsed(closed(text))
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Up to the end of the last complete member or item, with open brackets closed. */
function closed(text: string): string | undefined {
  const open: string[] = []
  let end: number | undefined
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/gs)) {
    if (token === '{' || token === '[') open.push(token === '{' ? '}' : ']')
    else if (token === '}' || token === ']') open.pop()
    else if (token !== ',') continue
    end = token === ',' ? index : index + 1
  }
  if (end === undefined) return undefined
  return `${text.slice(0, end)}${open.toReversed().join('')}`
}
