/** Errors on the way to a database: the responsible side, and a sentence with the remedy. */
import { Readable } from 'node:stream'

const untrusted =
  'its certificate is not signed by an authority that is trusted here; name that one with tls.ca'
const wantsCertificate = 'it requires a client certificate; name one with tls.cert and tls.key'

const sentences: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; compare the clocks',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name; correct the URL or set tls.serverName',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: wantsCertificate,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'it does not know the authority of the client certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; is the URL one of http?',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS; is the URL one of http?',
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  const text = textOf(error)
  const technical = code === undefined || text.includes(code) ? text : `${code} ${text}`
  const sentence = sentences[code ?? '']
  return sentence === undefined ? technical : `${sentence} (${technical})`
}

/** Where all addresses of a name were tried, each has a message and the whole has none. */
function textOf(error: Error): string {
  if (error.message !== '' || !(error instanceof AggregateError)) return error.message
  return error.errors.map((each) => (each instanceof Error ? each.message : String(each))).join(', ')
}

/** Mistakes in a request, or the end of our own doing. */
const notTheirs = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
  'UND_ERR_ABORTED',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
])

/** Whether the database, or the way to it, is to blame; and not a client who left in the middle of its body. */
export function isFaultOf(error: NodeJS.ErrnoException, body: unknown): boolean {
  if (notTheirs.has(error.code ?? '')) return false
  return (
    !(body instanceof Readable) ||
    error.syscall !== undefined ||
    /^(UND_ERR|ERR_TLS|CERT_|HPE_)/.test(error.code ?? '')
  )
}
