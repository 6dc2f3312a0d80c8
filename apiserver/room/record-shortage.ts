import { type Clock, rfc3339 } from '../../resources/ambient/clock.ts';
import { Event } from '../../resources/kinds/event.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { ApiClient } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import { unless } from '../client/unless.ts';

const COMPONENT = 'coppice-apiserver';
const SYSTEM = 'coppice-system';

/**
 * Tells of a shortage as an Event about the namespace of the system: one for each reason, with a count, whichever server says it and however
 * often.
 */
export async function recordShortage(
  deps: { readonly transport: Transport; readonly serverName: string; readonly clock: Clock },
  { reason, message }: { readonly reason: string; readonly message: string },
  signal: AbortSignal,
): Promise<void> {
  const client = new ApiClient(deps.transport);
  const events = client.resource<Event>(Event, SYSTEM);
  const name = `${SYSTEM}.${reason.toLowerCase()}`;
  const at = rfc3339(deps.clock.now());
  const there = await events.get(name, signal).catch(unless('NotFound'));
  if (there !== undefined) {
    await events.patch(name, { count: (there.count ?? 1) + 1, lastTimestamp: at, message }, {}, signal);
    return;
  }
  const { uid } = (await client.resource(Namespace).get(SYSTEM, signal)).metadata;
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name },
    involvedObject: { apiVersion: 'v1', kind: 'Namespace', namespace: SYSTEM, name: SYSTEM, uid },
    type: 'Warning',
    reason,
    message,
    count: 1,
    firstTimestamp: at,
    lastTimestamp: at,
    reportingComponent: COMPONENT,
    reportingInstance: deps.serverName,
    source: { component: COMPONENT },
  } as const;
  await events.create(event, {}, signal);
}
