// A run of a graph in a thread: its input, from where it goes on, and the form of its answer.
import { ANNA, BERT, json, text, type Kind } from './kind.ts'

const RUNS = '/threads/t1/runs/wait'
const run = { assistant_id: 'agent', input: { messages: [{ role: 'human', content: 'Write the report' }] } }

export const langgraphRuns: Kind = {
  name: 'run of a graph (LangGraph)',
  preset: 'langgraph-runs',
  facts: [
    {
      request: json(RUNS, run, ...ANNA),
      same: {
        'other field order': json(RUNS, { input: run.input, assistant_id: 'agent' }, ...ANNA),
        'white space': text(RUNS, JSON.stringify(run, null, 2), ...ANNA),
        'names of the try': json(RUNS, { ...run, metadata: { trace: 1 }, config: { tags: ['x'], run_id: 'r', run_name: 'n' } }, ...ANNA),
        'how runs of one thread meet': json(RUNS, { ...run, multitask_strategy: 'reject', on_disconnect: 'continue' }, ...ANNA),
        'a default said': json(RUNS, { ...run, stream_subgraphs: false }, ...ANNA),
        'another device': json(RUNS, run, 'User-Agent', 'phone', ...ANNA, 'X-Request-Id', '2'),
        'the thread escaped': json('/threads/%741/runs/wait', run, ...ANNA),
      },
      different: {
        'another thread': json('/threads/t2/runs/wait', run, ...ANNA),
        'a thread in capitals': json('/threads/T1/runs/wait', run, ...ANNA),
        'no thread': json('/runs/wait', run, ...ANNA),
        'another input': json(RUNS, { ...run, input: { messages: [{ role: 'human', content: 'Write the reports' }] } }, ...ANNA),
        'another graph': json(RUNS, { ...run, assistant_id: 'agent-2' }, ...ANNA),
        'another configuration': json(RUNS, { ...run, config: { configurable: { model: 'm' } } }, ...ANNA),
        'from a checkpoint': json(RUNS, { ...run, checkpoint_id: 'c1' }, ...ANNA),
        'a stop before a step': json(RUNS, { ...run, interrupt_before: ['send'] }, ...ANNA),
        'a stop after that step': json(RUNS, { ...run, interrupt_after: ['send'] }, ...ANNA),
        streamed: json('/threads/t1/runs/stream', run, ...ANNA),
        'another caller': json(RUNS, run, ...BERT),
      },
    },
    {
      request: json(RUNS, { assistant_id: 'agent', command: { resume: 'yes' } }, ...ANNA),
      same: { 'with metadata': json(RUNS, { metadata: {}, command: { resume: 'yes' }, assistant_id: 'agent' }, ...ANNA) },
      different: { 'another answer': json(RUNS, { assistant_id: 'agent', command: { resume: 'no' } }, ...ANNA) },
    },
  ],
  passing: [json('/threads', {}, ...ANNA)],
}
