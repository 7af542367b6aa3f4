/** Names of PromQL: in quotes or without, and in our own lists. */

/** The names of a space-separated list. */
export const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Stands for text with escapes, which are Go's and not ours to read. It is no valid metric or label name. */
export const unreadable = ''

export function unquote(name: string): string {
  if (!/^["'`]/.test(name)) return name
  return name.startsWith('`') || !name.includes('\\') ? name.slice(1, -1) : unreadable
}
