/** The check of every section with a certificate and its key. In a file of its own: kinds of stores use it, too. */
import type { Check } from './definition.ts'

export const certificateIsWhole: Check = {
  run(value: { readonly cert: string | undefined; readonly key: string | undefined }, report) {
    if (value.cert !== undefined && value.key === undefined)
      report('cert', 'needs "key": a certificate is of no use without its key')
    if (value.key !== undefined && value.cert === undefined)
      report('key', 'needs "cert": a key is of no use without its certificate')
  },
}
