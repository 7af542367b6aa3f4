/** Asks, and reads the answer to its end: undici's `dump` breaks off what is longer than 128 KiB. */
import { request } from 'undici'

export async function readWhole(url: string, options: { readonly reset?: boolean } = {}): Promise<void> {
  const { body } = await request(url, options)
  await body.arrayBuffer()
}
