// Notes when the machine has no time left, or this process has stood still: no limit can hold while nobody runs.
import { cpus } from 'node:os'
import type { Recorder } from './recorder.ts'

const EVERY_MS = 250
/** Of the event loop: as good as a stop of everything. */
const STALL_MS = 400
/** Of all processors' time. */
const BUSY_BELOW_IDLE = 0.1

/** Until the returned function is called. `busy` excuses lateness, `stall` also a lost lease. */
export function watchStalls(recorder: Recorder): () => void {
  let last = recorder.now()
  let before = processorTime()
  const timer = setInterval(() => {
    const now = recorder.now()
    const time = processorTime()
    const idle = (time.idle - before.idle) / Math.max(1, time.all - before.all)
    if (now - last > EVERY_MS + STALL_MS) recorder.add({ type: 'fault', kind: 'stall', from: last, to: now })
    else if (idle < BUSY_BELOW_IDLE) recorder.add({ type: 'fault', kind: 'busy', from: last, to: now })
    last = now
    before = time
  }, EVERY_MS)
  return () => clearInterval(timer)
}

function processorTime(): { idle: number; all: number } {
  let idle = 0
  let all = 0
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.idle + times.user + times.nice + times.sys + times.irq
  }
  return { idle, all }
}
