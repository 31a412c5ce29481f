// The nearest known word to a misspelt one, for the hints of mistakes.

/** Advice like `did you mean "lease"?`, or undefined when nothing known is near. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase()
  let best: string | undefined
  // A third of the letters may differ: enough for slips, too little for another word.
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best === undefined ? undefined : `did you mean "${best}"?`
}

/** Letters to insert, delete, replace or swap with a neighbour (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cheapest = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cheapest = Math.min(cheapest, (beforeLast[j - 2] ?? 0) + 1)
      row.push(cheapest)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
