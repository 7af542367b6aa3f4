/** Names as lists describe them: `*` at the beginning, at the end or at both stands for any characters. */
export type IsNamed = (name: string) => boolean

export function namedLike(patterns: readonly string[]): IsNamed {
  const matchers = patterns.map(readPattern)
  return (name) => matchers.some((matches) => matches(name))
}

function readPattern(pattern: string): IsNamed {
  const word = pattern.replaceAll('*', '')
  const [isOpenBefore, isOpenBehind] = [pattern.startsWith('*'), pattern.endsWith('*')]
  if (isOpenBefore && isOpenBehind) return (name) => name.includes(word)
  if (isOpenBefore) return (name) => name.endsWith(word)
  return isOpenBehind ? (name) => name.startsWith(word) : (name) => name === word
}
