// What a client makes of an event stream: the rules of WHATWG HTML 9.2.6 to the letter, over the whole text at once.

export interface ReceivedEvent {
  readonly type: string
  readonly data: string
  /** The last id at that time, of this event or of one before. */
  readonly lastEventId: string
}

/** Reads bytes as latin1, one character a byte, so that nothing is lost on what is no UTF-8. */
export function receivedEvents(stream: Buffer): ReceivedEvent[] {
  const text = stream.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  // "end-of-line = ( cr lf / cr / lf )"; what is behind the last one is no whole line.
  const lines = text.split(/\r\n|\r|\n/).slice(0, -1)
  const events: ReceivedEvent[] = []
  let [data, type, idBuffer, lastEventId] = ['', '', '', '']
  for (const line of lines) {
    if (line === '') {
      lastEventId = idBuffer
      if (data !== '') events.push({ type: type === '' ? 'message' : type, data: data.slice(0, -1), lastEventId })
      ;[data, type] = ['', '']
      continue
    }
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'event') type = value ?? ''
    else if (field === 'data') data += `${value ?? ''}\n`
    else if (field === 'id' && !(value ?? '').includes('\0')) idBuffer = value ?? ''
  }
  return events
}
