/** Samples of a metrics page, as far as the admin listener writes them. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/

export function readSamples(text: string): Sample[] {
  return text.split('\n').flatMap((each) => {
    const [, name, labels = '', value] = line.exec(each) ?? []
    return name === undefined ? [] : [{ name, labels: labelsOf(labels), value: Number(value) }]
  })
}

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [
      name!,
      value!.replaceAll(/\\(.)/g, '$1'),
    ]),
  )

export const sumOf = (samples: readonly Sample[]): number =>
  samples.reduce((sum, { value }) => sum + value, 0)
