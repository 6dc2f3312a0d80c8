import type { Condition } from '../../resources/meta/condition.ts';
import { findCondition } from '../../resources/meta/condition.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { EventRecorder } from './events.ts';

interface Counted extends KubeObject {
  readonly status?: {
    readonly wanted?: number;
    readonly observedGeneration?: number;
    conditions?: Condition[];
  };
}

/**
 * Records that an object ceased to be ready for another reason than before, or is ready again after such a one. `quiet` are reasons of what is merely under
 * way: to come to one of them is nothing to tell.
 */
export function tellReady(
  before: Counted,
  after: Counted,
  quiet: readonly string[],
  events: Pick<EventRecorder, 'record'>,
): void {
  const [was, is] = [findCondition(before, 'Ready'), findCondition(after, 'Ready')];
  if (is === undefined || is.reason === was?.reason) return;
  const bad = ({ status, reason }: Pick<Condition, 'status' | 'reason'>) =>
    status !== 'True' && !quiet.includes(reason);
  if (!bad(is) && !(is.status === 'True' && was !== undefined && bad(was))) return;
  events.record(after, { type: bad(is) ? 'Warning' : 'Normal', reason: is.reason, message: is.message });
}

/** Records that another number is wanted than before: because a schedule began or ended, or because somebody said so. */
export function tellWanted(before: Counted, after: Counted, events: Pick<EventRecorder, 'record'>): void {
  const [was, is] = [before.status?.wanted, after.status?.wanted];
  if (was === undefined || is === undefined || was === is) return;
  const scheduled = before.status?.observedGeneration === after.metadata.generation;
  const why = scheduled ? 'a schedule begins or ends' : 'its spec was changed';
  events.record(after, {
    type: 'Normal',
    reason: scheduled ? 'Scheduled' : 'Scaled',
    message: `${is} are wanted from now on, ${was} were: ${why}`,
  });
}
