/**
 * Detects which server answers behind the database's API. It is queried at the start and then again, in the background
 * of requests: often while it is unknown, now and then once it is known. A client's own credentials are used, because
 * the server may refuse other requests.
 */
import type { Flavour, FlavourProbe, HeaderList } from '../../backends/backend.ts'
import type { Clock } from '../../core/clock.ts'
import { sendDecoded } from '../decoder.ts'
import type { Upstream } from '../ports.ts'

const retryAfterMs = 1_000
const recheckAfterMs = 60_000
/** A slower database is queried again later; no request waits for it. */
const patienceMs = 5_000
const maxBytes = 64 * 1024

export class FlavourWatch {
  readonly #probe: FlavourProbe
  readonly #upstream: Upstream
  readonly #clock: Clock
  #flavour: Flavour = { isKnown: false, label: 'not asked yet' }
  #askedAt = Number.NEGATIVE_INFINITY
  #hasAnswered = false
  /** Called when the database turns out to be another thing than was known. */
  onChange: (flavour: Flavour) => void = () => {}
  /** Called after each check of a known database: with a description of an unexpected response, or undefined. */
  onRecheck: (instead: string | undefined) => void = () => {}

  constructor(probe: FlavourProbe, upstream: Upstream, clock: Clock) {
    this.#probe = probe
    this.#upstream = upstream
    this.#clock = clock
  }

  get current(): Flavour {
    return this.#flavour
  }

  /** Whether it ever answered, whatever it is; a server error is no answer. */
  get hasAnswered(): boolean {
    return this.#hasAnswered
  }

  /** The detection of another thread. */
  adopt(flavour: Flavour): void {
    this.#flavour = flavour
    this.#askedAt = this.#clock.now()
    if (flavour.silence === undefined) this.#hasAnswered = true
  }

  /** The current knowledge; starts a query in the background when that is due. */
  noteRequest(headers: HeaderList): Flavour {
    const due = this.#flavour.isKnown ? recheckAfterMs : retryAfterMs
    if (this.#clock.now() - this.#askedAt >= due) void this.ask(headers)
    return this.#flavour
  }

  /** A database that cannot be queried keeps its last known flavour. */
  ask(headers: HeaderList): Promise<void> {
    this.#askedAt = this.#clock.now()
    const body: Buffer[] = []
    let length = 0
    let status = 0
    return new Promise((resolve) => {
      const timer = this.#clock.after(patienceMs, () => {
        call.cancel()
        this.#fail(`no answer within ${patienceMs / 1000} s`)
        resolve()
      })
      const finish = () => {
        timer.cancel()
        resolve()
      }
      const call = sendDecoded(
        this.#upstream,
        { request: this.#request(headers), accept: 'identity' },
        {
          head: (code) => {
            status = code
          },
          data: (chunk) => {
            length += chunk.length
            if (length <= maxBytes) body.push(Buffer.from(chunk))
          },
          end: () => {
            if (status < 500) this.#hasAnswered = true
            this.#read(status, Buffer.concat(body).toString())
            finish()
          },
          failed: ({ detail }) => {
            this.#fail(`not reached: ${detail}`)
            finish()
          },
        },
      )
    })
  }

  /** A login page, a redirect or an error concerns one client or one moment: the known flavour stays. */
  #read(status: number, body: string): void {
    const found = this.#probe.read(status, body)
    const isAnswer = status === 200 && found.isUnreadable !== true
    if (this.#flavour.isKnown) this.onRecheck(isAnswer ? undefined : found.label)
    if (isAnswer || !this.#flavour.isKnown)
      this.#learn(status < 500 ? found : { ...found, silence: 'server_error' })
  }

  #fail(label: string): void {
    if (!this.#flavour.isKnown) this.#learn({ isKnown: false, label, silence: 'unreachable' })
  }

  #learn(flavour: Flavour): void {
    const { isKnown, label } = this.#flavour
    this.#flavour = flavour
    if (flavour.isKnown !== isKnown || flavour.label !== label) this.onChange(flavour)
  }

  #request(headers: HeaderList) {
    const own: string[] = []
    for (let i = 0; i < headers.length; i += 2) {
      if (!headers[i]!.startsWith('content-')) own.push(headers[i]!, headers[i + 1]!)
    }
    return {
      method: 'GET',
      path: this.#probe.path,
      search: '',
      headers: own,
      body: new Uint8Array(0),
    }
  }
}
