// What is wrong in what a command was given, as opposed to what went wrong: exit code 2.

export class UsageError extends Error {
  override readonly name = 'UsageError'
}
