/** The anchors that Markdown viewers make of headings. */

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s/g, '-')

export const anchorsIn = (page: string): ReadonlySet<string> =>
  new Set([...page.matchAll(/^#+ (.+)$/gm)].map((found) => anchorOf(found[1]!)))
