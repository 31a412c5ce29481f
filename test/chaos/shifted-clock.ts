// Loaded into a gateway before its own code (`node --import`): SIGWINCH moves its clock by an hour, and the next one back. What
// the program reads as the date is moved; timers, which run by the monotonic clock, are not, as when a clock is set.

const SHIFT_MS = Number(process.env.CHAOS_CLOCK_SHIFT_MS ?? 3_600_000)
const RealDate = Date
let shiftMs = 0

// A signal that means nothing to a server: SIGUSR1 is Node's own, and SIGUSR2 ends the gateway.
process.on('SIGWINCH', () => {
  shiftMs = shiftMs === 0 ? SHIFT_MS : 0
})

const now = (): number => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[], newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as object,
  apply: () => new RealDate(now()).toString(),
  get: (target, name, receiver) => (name === 'now' ? now : (Reflect.get(target, name, receiver) as unknown)),
})
