// A request that cannot be identified and must not pass: thrown deep inside, caught in identify.
import { problem, type Problem, type ProblemName } from '../model/problems.ts'

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly problem: Problem

  constructor(name: ProblemName, detail: string, cause?: unknown) {
    super(detail, { cause })
    this.problem = problem(name, detail)
  }
}
