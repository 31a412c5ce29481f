// What the heart tells an operator, whatever writes it down.

export interface Log {
  warn(details: object, message: string): void
  error(details: object, message: string): void
}
