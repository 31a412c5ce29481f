// Bounds one call of a store in time and gives every fault of a driver the same face.
import { StoreUnavailable } from './store.ts'

/** The driver's promise is not trusted to settle: a late answer, good or bad, is ignored. */
export function withDeadline<T>(verb: string, timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new StoreUnavailable(verb, new Error(`no answer within ${timeoutMs} ms`)))
    }, timeoutMs)
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error instanceof StoreUnavailable ? error : new StoreUnavailable(verb, error))
      },
    )
  })
}
