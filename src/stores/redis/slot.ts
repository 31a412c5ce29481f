// Which of a cluster's 16384 slots a key belongs to: CRC16 (XMODEM) of its hash tag, as the Redis Cluster specification has it.

export const SLOTS = 16_384

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** Of keys in ASCII, which all of ours are. */
export function slotOf(key: string): number {
  const open = key.indexOf('{')
  const close = open === -1 ? -1 : key.indexOf('}', open + 1)
  const [from, to] = close > open + 1 ? [open + 1, close] : [0, key.length]
  let crc = 0
  for (let n = from; n < to; n++) crc = ((crc << 8) ^ TABLE[((crc >> 8) ^ key.charCodeAt(n)) & 0xff]!) & 0xffff
  return crc % SLOTS
}
