// All that a TypeScript program needs to have jobwait wait for a job: plain JSON, stable names, one workflow id per job.
// The worker that waits stays the Go one.
import {
  ApplicationFailure,
  Client,
  QueryNotRegisteredError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  type WorkflowHandle,
} from '@temporalio/client';

/** What to wait for, and how long, how often and how patiently. The other fields are in the README. */
export interface Spec {
  operation_id: string;
  provider: string;
  account: string;
  provider_job_id: string;
  /** RFC 3339 with a zone, as all times are. */
  deadline_at: string;
  max_status_requests: number;
  max_transport_failures: number;
  status_url?: string;
  credential_ref?: string;
  schedule?: { base_delay_seconds?: number; max_delay_seconds?: number };
}

/** How the wait ended. Only `succeeded` means that there is a result. */
export interface Outcome {
  status: 'succeeded' | 'failed' | 'cancelled' | 'expired' | 'unresolved';
  reason: string;
  decided_by: string;
  result: Record<string, string>;
  status_requests_used: number;
}

/** An open question to people: the options are all that may be answered, within their maxima. */
export interface Escalation {
  id: string;
  reason: string;
  message: string;
  options: { kind: string; max_seconds: number; max_status_requests: number; text: string }[];
}

/** A person's answer. Its id makes it count once, however often it is sent. */
export interface Decision {
  kind: string;
  decision_id: string;
  escalation_id: string;
  decided_by: string;
  comment: string;
  seconds?: number;
  status_requests?: number;
}

export interface DecisionReply {
  accepted: boolean;
  deadline_at: string;
  max_status_requests: number;
}

/** The decision was read and not applied: `reason` is one of jobwait's words, such as `out_of_bounds`. */
export class DecisionRefused extends Error {
  constructor(
    message: string,
    readonly reason: string,
  ) {
    super(message);
  }
}

/** The spec cannot be run. The message says which value broke which rule. */
export class InvalidSpec extends Error {}

/** The id that makes a wait the only one for its job. encodeURIComponent leaves five more characters alone than the rule does. */
export function workflowId(spec: Spec): string {
  const segment = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
  return 'jobwait/' + [spec.provider, spec.account, spec.provider_job_id].map(segment).join('/');
}

/** Starts the wait for a job, or finds the one that owns it already. */
export async function start(client: Client, spec: Spec, taskQueue = 'jobwait'): Promise<{ wait: WorkflowHandle; owner: boolean }> {
  const id = workflowId(spec);
  try {
    const wait = await client.workflow.start('AwaitJob', {
      args: [spec],
      workflowId: id,
      taskQueue,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'FAIL',
      memo: { operation_id: spec.operation_id },
    });
    return { wait, owner: true };
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    return { wait: client.workflow.getHandle(id), owner: false };
  }
}

/** The open question, or null while the wait goes on. A wait that is being prepared has none yet, and says so by an error. */
export async function escalation(wait: WorkflowHandle): Promise<Escalation | null> {
  try {
    return await wait.query<Escalation | null>('escalation');
  } catch (error) {
    if (!(error instanceof QueryNotRegisteredError)) throw error;
    return null;
  }
}

/** Answers the open question and says at once whether the answer was applied. */
export async function decide(wait: WorkflowHandle, decision: Decision): Promise<DecisionReply> {
  try {
    return await wait.executeUpdate<DecisionReply, [Decision]>('decide', { args: [decision] });
  } catch (error) {
    const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
    if (!(cause instanceof ApplicationFailure) || cause.type !== 'DecisionRefused') throw error;
    const refusal = cause.details?.[0] as { reason: string } | undefined;
    throw new DecisionRefused(cause.message, refusal?.reason ?? '');
  }
}

/** Waits for the end, over all runs of the wait. */
export async function outcome(wait: WorkflowHandle): Promise<Outcome> {
  try {
    return (await wait.result()) as Outcome;
  } catch (error) {
    const cause = error instanceof WorkflowFailedError ? error.cause : undefined;
    if (!(cause instanceof ApplicationFailure) || cause.type !== 'InvalidSpec') throw error;
    throw new InvalidSpec(cause.message);
  }
}
