// Waits for an export with fewer requests than it takes, answers the question that follows, and reads the outcome.
import { setTimeout as sleep } from 'node:timers/promises';

import { Client, Connection, type WorkflowHandle } from '@temporalio/client';

import { decide, DecisionRefused, escalation, outcome, start, type Escalation, type Outcome, type Spec } from './jobwait.js';

const [job = 'exp_71c', statusUrl = `http://127.0.0.1:8090/exports/${job}`] = process.argv.slice(2);

const spec: Spec = {
  operation_id: `report-${job}`,
  provider: 'demo-export',
  account: 'acct-42',
  provider_job_id: job,
  status_url: statusUrl,
  credential_ref: 'demo',
  deadline_at: new Date(Date.now() + 10 * 60_000).toISOString(),
  max_status_requests: 2,
  max_transport_failures: 3,
  schedule: { base_delay_seconds: 1, max_delay_seconds: 1 },
};

/** Looks until the wait asks, or has ended. Looking costs the provider nothing: the worker is asked, not the job. */
async function question(wait: WorkflowHandle): Promise<Escalation | null> {
  for (;;) {
    const open = await escalation(wait);
    if (open || (await wait.describe()).status.name !== 'RUNNING') return open;
    await sleep(200);
  }
}

// docs: typescript-decide
/** Asks for more than one decision may grant, which is refused, and then for what will do. */
async function extend(wait: WorkflowHandle, open: Escalation): Promise<void> {
  const answer = { kind: 'extend', escalation_id: open.id, decided_by: 'ana@example.com', comment: 'the export is large' };
  try {
    await decide(wait, { ...answer, decision_id: `${job}-1`, seconds: 900, status_requests: 1_000_000 });
  } catch (error) {
    if (!(error instanceof DecisionRefused)) throw error;
    console.log('refused:', error.reason);
  }
  const reply = await decide(wait, { ...answer, decision_id: `${job}-2`, seconds: 900, status_requests: 4 });
  console.log('applied: now', reply.max_status_requests, 'requests');
}
// docs: end

// docs: typescript
async function waitForExport(client: Client): Promise<Outcome> {
  const { wait, owner } = await start(client, spec); // plain JSON; the job's one workflow id
  console.log(owner ? 'started' : 'joined', wait.workflowId);

  const open = await question(wait); // null if it ended without one
  if (open) {
    console.log('asked:', open.reason, open.options.map((option) => option.kind).join(', '));
    await extend(wait, open);
  }
  return outcome(wait);
}
// docs: end

const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? 'localhost:7233' });
try {
  const end = await waitForExport(new Client({ connection }));
  console.log('ended:', end.status, end.result['file'], `after ${end.status_requests_used} requests`);
  if (end.status !== 'succeeded') process.exitCode = 1;
} finally {
  await connection.close();
}
