/** Bodies of objects, for tests. */

/** The name of a version, or as many bytes as wanted that differ from version to version. */
export function bodyOf(version: string, bytes?: number): Uint8Array {
  if (bytes === undefined) return Buffer.from(version)
  const seed = version.charCodeAt(version.length - 1)
  return Uint8Array.from({ length: bytes }, (_, i) => (i * 31 + (i >> 8) + seed) & 0xff)
}
