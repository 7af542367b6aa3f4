/** Why a cached answer may differ from the database's own: a closed list, the gravest first. */

interface CauseOf {
  /** Staleness that the policy permits, or the same values in other bytes. */
  readonly isExplained: boolean
  readonly sentence: string
}

export const causes = {
  unfaithful: {
    isExplained: false,
    sentence:
      'The answer of the database does not come out of its buckets as it went in: a fault of Windowpane, please report it.',
  },
  store_changed: {
    isExplained: false,
    sentence:
      "The database's answer has not changed since these buckets were stored, but the stored buckets have: a fault of the store, or of Windowpane.",
  },
  not_deterministic: {
    isExplained: false,
    sentence:
      'The database gives two answers about the same settled buckets by turns: it stands for servers that differ, or clients that may not see the same share answers (identity).',
  },
  notes: {
    isExplained: false,
    sentence: 'Warnings or infos of the database are missing from the answer of the cache.',
  },
  settled_change: {
    isExplained: true,
    sentence:
      'The database changed settled buckets after they were stored (backfill, deletion, a rewritten recording rule): purge the interval after such changes, or lower the cap of the policy.',
  },
  columns: {
    isExplained: true,
    sentence:
      'Series appeared in settled buckets, or vanished from them, after they were stored (backfill, deletion, an agent that was cut off): purge the interval after such changes, or lower the cap of the policy.',
  },
  order: { isExplained: true, sentence: 'The same content is in another order.' },
  number_text: { isExplained: true, sentence: 'The same numbers are written differently.' },
  late_data: {
    isExplained: true,
    sentence:
      'Data came late to buckets that were not settled when they were fetched: the staleness that the policy permits.',
  },
} as const satisfies Record<string, CauseOf>

export type Cause = keyof typeof causes

const byGravity = Object.keys(causes) as Cause[]

export const gravest = (found: readonly Cause[]): Cause =>
  byGravity.find((cause) => found.includes(cause)) ?? 'unfaithful'
