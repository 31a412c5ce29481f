// Waits that end.

/** Resolves when the condition holds; fails after `withinMs`. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, withinMs = 5000): Promise<void> {
  const endsAt = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > endsAt) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The promise, or a failure after `withinMs`. */
export async function within<T>(what: string, promise: Promise<T>, withinMs = 5000): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${withinMs} ms: ${what}`)), withinMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
