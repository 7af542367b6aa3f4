/** Sends a request, and reads the response to its end: undici's `dump` aborts responses longer than 128 KiB. */
import { request } from 'undici'

export async function readWhole(url: string, options: { readonly reset?: boolean } = {}): Promise<void> {
  const { body } = await request(url, options)
  await body.arrayBuffer()
}
