/** Transcripts in the documentation: ```console blocks with commands behind `$ ` and their output. */

export interface Step {
  readonly command: string
  /** The output on the page. */
  readonly output: string
}

export function stepsIn(page: string): Step[] {
  const blocks = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
  return blocks.flatMap((text) =>
    text
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...output] = part.split('\n')
        return { command, output: output.join('\n') }
      }),
  )
}

/** Parts that differ from run to run and from machine to machine. Columns are as wide as their widest value. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  // A change of the file may be in force before the command reads it.
  [/\(pid \d+, .*\)/g, '(…)'],
  [/\bpid \d+/g, 'pid N'],
  [/(?<=Prometheus )\d[\w.+~-]*/g, 'VERSION'],
  [/\b\d+(?:\.\d+)? (?:ms|s|min|h)\b/g, 'DURATION'],
  [/\b\d+(?:\.\d+)? (?:B|KiB|MiB)\b/g, 'SIZE'],
  [/\bttl=\d+/g, 'ttl=N'],
  [/[ \t]+/g, ' '],
  [/ $/gm, ''],
]

export const masked = (text: string): string =>
  volatile.reduce((result, [pattern, by]) => result.replaceAll(pattern, by), text).trim()
