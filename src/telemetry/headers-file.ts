/** Headers from a file, for secrets that must not be in a configuration: one `Name: value` per line. */

export type HeadersRead = { readonly fields: Readonly<Record<string, string>> } | { readonly error: string }

const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/

/** Empty lines and lines that begin with `#` are ignored. Mistakes are reported without the content of the line. */
export function parseHeaders(text: string): HeadersRead {
  const fields: Record<string, string> = Object.create(null)
  for (const [i, each] of text.split(/\r?\n/).entries()) {
    if (each.trim() === '' || each.startsWith('#')) continue
    const [, name, value] = line.exec(each.trimEnd()) ?? []
    if (name === undefined || value === undefined) return { error: `line ${i + 1} is not "Name: value"` }
    fields[name.toLowerCase()] = value
  }
  return { fields }
}
