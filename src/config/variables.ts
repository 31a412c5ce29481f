// `${NAME}` and `${NAME:-default}` in a text. `$${` stands for a plain `${`.

export type Environment = Readonly<Record<string, string | undefined>>

export interface Expanded {
  readonly text: string
  /** The text was nothing but one variable. */
  readonly whole: boolean
  readonly problems: readonly { readonly message: string; readonly hint: string }[]
}

const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?\})?/g

/** As in a shell, the default also stands in for an empty variable. Undefined where the text names no variable at all. */
export function expandVariables(text: string, env: Environment): Expanded | undefined {
  if (!text.includes('${')) return undefined
  const problems: { message: string; hint: string }[] = []
  let whole = false
  const expanded = text.replace(VARIABLE, (found: string, name: string | undefined, fallback: string | undefined) => {
    if (found === '$${') return '${'
    if (name === undefined) {
      problems.push({ message: '"${" starts no variable here', hint: 'write ${NAME} or ${NAME:-default}; for a plain "${" write "$${"' })
      return found
    }
    whole = found === text
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    if (value !== undefined && (value !== '' || fallback === undefined)) return value
    if (fallback === undefined)
      problems.push({ message: `the environment variable ${name} is not set`, hint: `set it, or give a default: \${${name}:-…}` })
    return fallback ?? ''
  })
  return { text: expanded, whole, problems }
}
