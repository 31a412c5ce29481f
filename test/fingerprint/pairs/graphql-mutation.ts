// A mutation over GraphQL: its text without layout, its variables without the client's own id; queries pass.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const variables = { input: { title: 'Bug', labels: ['b', 'a'], clientMutationId: 'm1' } }
const mutation = { operationName: 'AddIssue', query: 'mutation AddIssue($input: I!) { addIssue(input: $input) { id } }', variables }
const send = (changes: object, ...headers: string[]) => json('/graphql', { ...mutation, ...changes }, ...ANNA, ...headers)
const input = (changes: object) => send({ variables: { input: { ...variables.input, ...changes } } })

export const graphqlMutation: Kind = {
  name: 'mutation over GraphQL',
  rules: `
rules:
  - name: add-issue
    match: { path: /graphql, where: { body.operationName: [AddIssue, CloseIssue] } }
    fingerprint:
      operation: body.operationName
      text: { from: body.query, apply: [collapseSpace, sha256] }
      variables: { from: body.variables, apply: [{ omit: [input.clientMutationId] }] }
      labels: { from: 'body.variables.input.labels[*]', apply: [set], optional: true }
    digest: [body.variables.input.labels]
`,
  facts: [
    {
      request: json('/graphql', mutation, ...ANNA),
      same: {
        "another of the client's ids": input({ clientMutationId: 'm2' }),
        "none of the client's ids": input({ clientMutationId: undefined }),
        'the text on several lines': send({ query: mutation.query.replaceAll(' ', '\n  ') }),
        'other field order': text('/graphql', JSON.stringify(Object.fromEntries(Object.entries(mutation).toReversed()), null, 2), ...ANNA),
        'extensions for the server': send({ extensions: { persistedQuery: { version: 1 } } }),
        'a trace and another program': send({}, 'Traceparent', '00-1-2-01', 'Apollographql-Client-Name', 'phone'),
        'another type of JSON': send({}, 'Content-Type', 'application/graphql-response+json'),
      },
      different: {
        'another title': input({ title: 'Bugs' }),
        'another label': input({ labels: ['b', 'c'] }),
        'a variable more': input({ body: '' }),
        'a variable that is null': input({ title: null }),
        'more in the answer': send({ query: mutation.query.replace('id', 'id title') }),
        'another operation': send({ operationName: 'CloseIssue' }),
        'by somebody else': json('/graphql', mutation, ...BERT),
      },
    },
  ],
  passing: [json('/graphql', { ...mutation, operationName: 'Issues' }, ...ANNA), json('/graphql', { query: '{ issues { id } }' }, ...ANNA)],
}
