// Watches which parts of a document somebody looks at: a schema's validator looks at each field that it knows, and at no other.

export function looksInto<T extends object>(document: T): { looked: T; unseen: () => string[] } {
  const seen = new Set<string>()
  return { looked: watched(document, '', seen), unseen: () => pathsOf(document, '').filter((path) => !seen.has(path)) }
}

function watched<T extends object>(part: T, path: string, seen: Set<string>): T {
  return new Proxy(part, {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver)
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return value
      seen.add(`${path}/${key}`)
      return typeof value === 'object' && value !== null ? watched(value, `${path}/${key}`, seen) : value
    },
  })
}

function pathsOf(part: unknown, path: string): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => [`${path}/${key}`, ...pathsOf(value, `${path}/${key}`)])
}
