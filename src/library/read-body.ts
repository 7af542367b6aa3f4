/** Reads a request's body as a whole, as far as it may be long. */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<Uint8Array | 'too long'> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.length
    // Leaving the loop cancels the stream.
    if (length > maxBytes) return 'too long'
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
