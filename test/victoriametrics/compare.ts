/** Two answers of VictoriaMetrics: equal byte for byte, the statistics of one execution aside. */
import type { Answer } from '../fidelity/client.ts'
import { compareAnswers } from '../fidelity/compare.ts'
import type { Difference } from '../fidelity/tally.ts'

export const compareWithoutStats = (direct: Answer, proxied: Answer): Difference | undefined =>
  compareAnswers(withoutStats(direct), withoutStats(proxied))

/** They are the last member. A label may be called `stats`, but its value is a string. */
function withoutStats(answer: Answer): Answer {
  const at = answer.body.lastIndexOf(',"stats":{')
  if (at < 0) return answer
  return { ...answer, body: Buffer.concat([answer.body.subarray(0, at), Buffer.from('}')]) }
}
