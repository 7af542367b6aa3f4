/** Names as PromQL writes them, with or without quotes. */

/** Stands for text with escapes, which are Go's and not ours to read. It is no valid metric or label name. */
export const unreadable = ''

export function unquote(name: string): string {
  if (!/^["'`]/.test(name)) return name
  return name.startsWith('`') || !name.includes('\\') ? name.slice(1, -1) : unreadable
}
