// Why there is no whole answer, and whether the upstream may have acted.

/**
 * `unreachable`: no byte of the request left. `broken`: some did, and the answer never came or broke off.
 * `incomplete`: the answer ended cleanly, but too early. `timeout`: the answer was not whole in time. `cancelled`: the gateway itself gave up (client gone, shutdown).
 */
export type UpstreamFault = 'unreachable' | 'broken' | 'incomplete' | 'timeout' | 'cancelled'

export class UpstreamError extends Error {
  override name = 'UpstreamError'
  readonly fault: UpstreamFault
  /** False: no byte of the request left the gateway, so running it again is safe. */
  readonly sent: boolean

  constructor(fault: UpstreamFault, sent: boolean, cause?: unknown) {
    super(`upstream ${fault}`, { cause })
    this.fault = fault
    this.sent = sent
  }
}
