import { TENANTS } from '../../resources/guards/refs.ts';
import { forbidden } from '../../resources/meta/api-error.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { roleOf } from '../auth/identity.ts';
import type { VerbContext } from './verb-context.ts';

/** What is told of what is there already, and of who does something: it is not new. */
const GOES_ON: ReadonlySet<string> = new Set(['core/events', 'events.k8s.io/events', 'coordination.k8s.io/leases']);

/** In the namespace of a disabled tenant only operators make something new. */
export function refuseDisabled({ parts, served: { kind }, target, identity }: VerbContext, name: string): void {
  const { namespace } = target;
  // Operators come first: their writes then rest on no other object than their own.
  if (!kind.namespaced || namespace === undefined || roleOf(identity) === 'operator') return;
  if (GOES_ON.has(resourceId(kind))) return;
  if (parts.cache.world.get(TENANTS, undefined, namespace)?.spec.disabled !== true) return;
  const why = `tenant ${namespace} is disabled: nothing new begins in it`;
  throw forbidden(kind, name, why, { reason: 'TenantDisabled', message: `tenant ${namespace} is disabled` });
}
