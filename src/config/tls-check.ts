/** The check, and the refused keys, of every section with a certificate and its key. In a file of their own: kinds of stores use them, too. */
import type { Check } from './definition.ts'

export const certificateIsWhole: Check = {
  run(value: { readonly cert: string | undefined; readonly key: string | undefined }, report) {
    if (value.cert !== undefined && value.key === undefined)
      report('cert', 'needs "key": a certificate is of no use without its key')
    if (value.key !== undefined && value.cert === undefined)
      report('key', 'needs "cert": a key is of no use without its certificate')
  },
}

const insecure = 'certificates are always verified; name the authority that signed this one with "ca" instead'

/** Keys that people try, with the reason why there are none. */
export const refusedTlsKeys = {
  insecure,
  insecureSkipVerify: insecure,
  rejectUnauthorized: insecure,
  verify: insecure,
}
