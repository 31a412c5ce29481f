// Where the upstream is asked about an execution: the rule's path, with what this request and that execution put into it.
import { type ExecutionWord, parsePathTemplate } from '../config/path-template.ts'
import { Refusal } from './refusal.ts'
import { RequestContext, type Params } from './request-context.ts'
import type { RequestParts } from './request-parts.ts'
import { compileSelector, type CompiledSelector } from './select.ts'
import { asText } from './steps/text-steps.ts'

export type ExecutionWords = Readonly<Record<ExecutionWord, string>>

/** `missing`: the variable that this request has no single value for. */
export type InquiryPath = { readonly path: string } | { readonly missing: string }

export interface CompiledInquiryPath {
  readonly selectors: readonly CompiledSelector[]
  readonly render: (request: RequestParts, params: Params, words: ExecutionWords) => InquiryPath
}

/** Throws a SelectorError for what the configuration's own checks would have refused. */
export function compileInquiryPath(template: string): CompiledInquiryPath {
  const pieces = parsePathTemplate(template).map((piece) =>
    piece.kind === 'selector' ? { ...piece, selector: compileSelector(piece.text) } : piece,
  )
  return {
    selectors: pieces.flatMap((piece) => (piece.kind === 'selector' ? [piece.selector] : [])),
    render: (request, params, words) => {
      const context = new RequestContext(request, params)
      let path = ''
      for (const piece of pieces) {
        const text =
          piece.kind === 'text' ? piece.text : encoded(piece.kind === 'name' ? words[piece.name] : singleValue(piece.selector, context))
        if (text === undefined) return { missing: piece.kind === 'selector' ? piece.text : template }
        path += text
      }
      return hasDotSegments(path) ? { missing: template } : { path }
    },
  }
}

function singleValue(selector: CompiledSelector, context: RequestContext): string | undefined {
  try {
    const values = selector.select(context)
    return values.length === 1 ? asText(values[0]!) : undefined
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/** Undefined for what no path can say: nothing, or half a character. */
function encoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' || !text.isWellFormed() ? undefined : encodeURIComponent(text)
}

/** RFC 3986 5.2.4: a value of `..` would lead to another place than the rule names. */
function hasDotSegments(path: string): boolean {
  return path
    .split('?', 1)[0]!
    .split('/')
    .some((segment) => segment === '.' || segment === '..')
}
