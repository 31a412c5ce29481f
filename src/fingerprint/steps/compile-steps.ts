// The steps of a part, compiled into one.
import type { StepSetting } from '../../config/step-schema.ts'
import { email, sha256, url } from './address-steps.ts'
import { omit, pick, set, sort } from './list-steps.ts'
import { integer, number, rounded } from './number-steps.ts'
import { plugin } from './plugins.ts'
import type { Step, Steps } from './step.ts'
import { absentIf, collapseSpace, extract, lower, mapTo, matchTo, nfc, nfkc, string, trim, upper } from './text-steps.ts'
import { BESIDE, ITS_OWN, date, timeWindow, type HalfWindow } from './time-steps.ts'
import { NO_TOOLS, type StepTools } from './tools.ts'

const WORDS: Readonly<Record<Extract<StepSetting, string>, Step>> = {
  trim,
  lower,
  upper,
  nfc,
  nfkc,
  collapseSpace,
  integer,
  number,
  string,
  sha256,
  url,
  email,
  sort,
  set,
}

/** Undefined where there is nothing to do. */
export function compileSteps(
  settings: readonly StepSetting[] | undefined,
  tools: StepTools = NO_TOOLS,
  half: HalfWindow = ITS_OWN,
): Steps | undefined {
  if (settings === undefined || settings.length === 0) return undefined
  const steps = settings.map((setting) => ({
    name: nameOf(setting),
    step: typeof setting === 'string' ? WORDS[setting] : compileMapping(setting, tools, half),
  }))
  return (values, context, watch) => {
    let left = values
    for (const { name, step } of steps) {
      if (left.length === 0) return left
      left = step(left, context)
      watch?.step(name, left)
    }
    return left
  }
}

/** A mapping has one key that is set: the step. */
function nameOf(setting: StepSetting): string {
  if (typeof setting === 'string') return setting
  return Object.entries(setting).find(([, value]) => value !== undefined)?.[0] ?? 'step'
}

/** The same steps, but with the halves of a window beside; none where there is no window. */
export function compileNeighbours(settings: readonly StepSetting[] | undefined, tools?: StepTools): readonly Steps[] {
  const windowed = settings?.some((setting) => typeof setting !== 'string' && setting.window !== undefined)
  return windowed ? BESIDE.flatMap((half) => compileSteps(settings, tools, half) ?? []) : []
}

function compileMapping(setting: Exclude<StepSetting, string>, tools: StepTools, half: HalfWindow): Step {
  if (setting.number !== undefined) return rounded(setting.number.round)
  if (setting.pick !== undefined) return pick(setting.pick)
  if (setting.omit !== undefined) return omit(setting.omit)
  if (setting.map !== undefined) return mapTo(setting.map)
  if (setting.match !== undefined) return matchTo(setting.match)
  if (setting.regex !== undefined) return extract(setting.regex)
  if (setting.absentIf !== undefined) return absentIf(setting.absentIf)
  if (setting.window !== undefined) return timeWindow(setting.window, half)
  if (setting.date !== undefined) return date(setting.date, needed(tools.dates, 'date'))
  return plugin(needed(tools.plugins.get(setting.plugin ?? ''), 'plugin'))
}

function needed<T>(tool: T | undefined, step: string): T {
  if (tool === undefined) throw new Error(`what the step "${step}" needs was not loaded`)
  return tool
}
