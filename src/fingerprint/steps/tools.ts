// What steps need that must be loaded before the first request: the libraries for dates, and plugins.
import type { RuleConfig } from '../../config/gateway-config.ts'
import type { StepSetting } from '../../config/step-schema.ts'
import { loadDateTools, type DateTools } from '../dates/read-date.ts'
import { loadPlugin, type Plugin } from './plugins.ts'

export interface StepTools {
  readonly dates: DateTools | undefined
  /** By file, as the configuration names it. */
  readonly plugins: ReadonlyMap<string, Plugin>
  /** The same files: a hash of what is in each. */
  readonly versions: ReadonlyMap<string, string>
}

export const NO_TOOLS: StepTools = { dates: undefined, plugins: new Map(), versions: new Map() }

/** Loads what these rules use, and nothing else. */
export async function loadStepTools(rules: readonly RuleConfig[]): Promise<StepTools> {
  const steps = rules.flatMap(stepsOf).filter((step) => typeof step !== 'string')
  const loaded = await Promise.all([...new Set(rules.flatMap(pluginsOf))].map(async (file) => [file, await loadPlugin(file)] as const))
  return {
    dates: steps.some(({ date }) => date !== undefined) ? await loadDateTools() : undefined,
    plugins: new Map(loaded.map(([file, { plugin }]) => [file, plugin])),
    versions: new Map(loaded.map(([file, { version }]) => [file, version])),
  }
}

/** The files of the rule's plugins, as often as they are used. */
export function pluginsOf(rule: RuleConfig): string[] {
  return stepsOf(rule).flatMap((step) => (typeof step === 'string' || step.plugin === undefined ? [] : [step.plugin]))
}

function stepsOf(rule: RuleConfig): StepSetting[] {
  return Object.values(rule.fingerprint).flatMap((part) => (typeof part === 'string' || 'value' in part ? [] : (part.apply ?? [])))
}
