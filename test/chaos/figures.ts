// What a chaos run came to, in numbers.
import type { HistoryEvent } from './history.ts'

export type Figures = Readonly<Record<string, number>>

/** Requests, executions, faults by kind, and answers by what they are. */
export function figuresOf(history: readonly HistoryEvent[]): Figures {
  const figures: Record<string, number> = { requests: 0, executions: 0, faults: 0 }
  const count = (name: string): void => void (figures[name] = (figures[name] ?? 0) + 1)
  for (const event of history) {
    if (event.type === 'asked') count('requests')
    if (event.type === 'executed') count('executions')
    if (event.type === 'executed' && event.attempt > 1) count('later attempts')
    if (event.type === 'ended' && event.how === 'reset') count('upstream resets')
    if (event.type === 'fault' && !['stall', 'busy'].includes(event.kind)) count('faults')
    if (event.type === 'fault') count(`fault: ${event.kind}`)
    if (event.type === 'unanswered') count('answer: none')
    if (event.type === 'answered') {
      const kind = event.error ?? `${event.status}${event.whole ? '' : ' broken off'}${event.replayed ? ' replayed' : ''}`
      count(`answer: ${kind}`)
    }
  }
  return figures
}

export function sumOf(all: readonly Figures[]): Figures {
  const sum: Record<string, number> = {}
  for (const figures of all) for (const [name, count] of Object.entries(figures)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
