/** A random UUID (RFC 9562, version 4) from the given randomness. */
export function newUuid(random: () => number): string {
  const hex = (digits: number) =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  const variant = '89ab'[Math.floor(random() * 4)]
  return `${hex(8)}-${hex(4)}-4${hex(3)}-${variant}${hex(3)}-${hex(6)}${hex(6)}`
}
