// Reads the server's values, of those types that the statements answer with. As text: the driver cannot read binary ones.
import type { CustomTypesConfig } from 'pg'

const BY_OID: Readonly<Record<number, (text: string) => unknown>> = {
  16: (boolean) => boolean === 't',
  17: (bytea) => Buffer.from(bytea.slice(2), 'hex'),
  // Milliseconds, bytes and log numbers: far below 2 ** 53.
  20: Number,
  23: Number,
}

function unchanged(text: string): string {
  return text
}

export const columnTypes: CustomTypesConfig = {
  getTypeParser: (oid: number): any => BY_OID[oid] ?? unchanged,
}
