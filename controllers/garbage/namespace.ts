import type { ApiClient } from '../../apiserver/client/client.ts';
import type { Clock } from '../../resources/ambient/clock.ts';
import type { Logger } from '../../resources/ambient/log.ts';
import { NAMESPACE_FINALIZER } from '../../resources/guards/tenant-namespace.ts';
import { Namespace } from '../../resources/kinds/namespace.ts';
import { setConditions } from '../../resources/meta/condition.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import type { CacheView } from '../runtime/cache.ts';
import type { Outcome } from '../runtime/duty.ts';
import { emptyNamespace, type Remaining } from '../runtime/namespace-contents.ts';
import { orGone } from '../runtime/write.ts';
import { isEnding } from './decide.ts';

const CONTENTS_AGAIN_MS = 1_000;
/** A namespace is seen ending for a while, as it is with Kubernetes: who deletes one and looks again finds it Terminating. */
const SEEN_MS = 3_000;

interface NamespaceDeps {
  readonly client: ApiClient;
  readonly namespaces: CacheView<Namespace>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Empties a namespace that is being deleted, telling in its conditions what is left, then lets it go. */
export async function endNamespace(name: string, deps: NamespaceDeps, signal: AbortSignal): Promise<Outcome> {
  const { client, clock, log } = deps;
  const namespace = deps.namespaces.get(name);
  if (namespace === undefined || !isEnding(namespace)) return {};
  const remaining = await emptyNamespace(client, name, signal);
  if (remaining.length > 0) {
    await tell(namespace, remaining, deps, signal);
    return { requeueAfterMs: CONTENTS_AGAIN_MS };
  }
  const seenMs = clock.now() - Date.parse(namespace.metadata.deletionTimestamp ?? '');
  if (seenMs < SEEN_MS) return { requeueAfterMs: SEEN_MS - seenMs };
  await release(namespace, client, signal);
  log.info('namespace removed', { namespace: name });
  return {};
}

/** Takes the server's finalizer off; those of others stay. */
async function release(namespace: Namespace, client: ApiClient, signal: AbortSignal): Promise<void> {
  const { resourceVersion: _, ...metadata } = namespace.metadata;
  const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== NAMESPACE_FINALIZER);
  const body = JSON.stringify({ ...namespace, metadata, spec: { ...namespace.spec, finalizers } });
  await orGone(
    client.json({
      method: 'PUT',
      path: client.resource<Namespace>(Namespace).path(metadata.name, 'finalize'),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: new TextEncoder().encode(body),
      signal,
    }),
  );
}

async function tell(
  namespace: Namespace,
  remaining: readonly Remaining[],
  { client, clock }: NamespaceDeps,
  signal: AbortSignal,
): Promise<void> {
  const conditions = setConditions(namespace, clock.now(), endConditions(remaining));
  if (jsonEqual(conditions, namespace.status?.conditions)) return;
  const namespaces = client.resource<Namespace>(Namespace);
  const patch = { status: { conditions } };
  await orGone(namespaces.patch(namespace.metadata.name, patch, { subresource: 'status' }, signal));
}

/** What Kubernetes' namespace controller tells of an end that waits, in its types, reasons and words. */
function endConditions(remaining: readonly Remaining[]) {
  const held = new Map<string, number>();
  for (const { finalizers } of remaining) {
    for (const [finalizer, count] of finalizers) held.set(finalizer, (held.get(finalizer) ?? 0) + count);
  }
  const left = remaining.map(({ resource, count }) => `${dotted(resource)} has ${count} resource instances`).sort();
  const holding = [...held].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`).sort();
  const fine = (type: string, reason: string, message: string) => ({ type, status: 'False' as const, reason, message });
  const wait = (type: string, reason: string, message: string) => ({ type, status: 'True' as const, reason, message });
  return [
    fine('NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'),
    fine(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    fine(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    wait('NamespaceContentRemaining', 'SomeResourcesRemain', `Some resources are remaining: ${left.join(', ')}`),
    holding.length === 0
      ? fine('NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished')
      : wait(
          'NamespaceFinalizersRemaining',
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${holding.join(', ')}`,
        ),
  ];
}

/** Kubernetes writes resource and group with a dot even where there is no group. */
const dotted = (resource: string) => (resource.includes('.') ? resource : `${resource}.`);
