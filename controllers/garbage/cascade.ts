import type { ApiClient } from '../../apiserver/client/client.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import type { Outcome } from '../runtime/duty.ts';
import type { EventRecorder } from '../runtime/events.ts';
import { finalizerStage, releaseFinalizer } from '../runtime/finalizer.ts';
import { InFlight } from '../runtime/in-flight.ts';
import { orGone } from '../runtime/write.ts';
import { deleteOwned, REFUSED_AGAIN_MS } from './delete-owned.ts';
import type { Found, OwnedObjects } from './owned-objects.ts';

/** Set by the server on an object that is deleted with propagation Orphan or Foreground (k8s.io/apimachinery, finalizers of that name). */
const ORPHAN_FINALIZER = 'orphan';
const FOREGROUND_FINALIZER = 'foregroundDeletion';

const WRITES_AT_ONCE = 8;
const DEPENDENTS_AGAIN_MS = 1_000;

type Cascade = 'orphan' | 'foreground';

/** How an object that is being deleted wants its dependents treated before it goes; undefined when it is held by nothing of ours. */
export function cascadeOf(object: KubeObject): Cascade | undefined {
  if (finalizerStage(object, ORPHAN_FINALIZER) === 'cleanup') return 'orphan';
  if (finalizerStage(object, FOREGROUND_FINALIZER) === 'cleanup') return 'foreground';
  return undefined;
}

interface CascadeDeps {
  readonly client: ApiClient;
  readonly owned: OwnedObjects;
  readonly recorder: EventRecorder;
}

/** Does to the dependents what the owner's deletion asked for, then lets the owner go. */
export async function cascade(
  wish: Cascade,
  { ref, object }: Found,
  deps: CascadeDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { client, owned } = deps;
  const dependents = owned.dependents(object);
  const refused = new Set<Found>();
  const writes = new InFlight(WRITES_AT_ONCE);
  for (const dependent of dependents) {
    if (wish === 'orphan') await writes.start(() => disown(client, dependent, object.metadata.uid, signal));
    else if (dependent.object.metadata.deletionTimestamp === undefined) {
      const policy = waits(dependent, owned) ? 'Foreground' : undefined;
      await writes.start(async () => {
        if (!(await deleteOwned(dependent, [object.metadata.uid], deps, signal, policy))) refused.add(dependent);
      });
    }
  }
  await writes.finish();
  // Dependents that do not block their owner may go after it.
  if (wish === 'foreground' && dependents.some((dependent) => blocks(dependent.object, object.metadata.uid))) {
    // What may not go now is not asked every second.
    return { requeueAfterMs: refused.size > 0 ? REFUSED_AGAIN_MS : DEPENDENTS_AGAIN_MS };
  }
  const finalizer = wish === 'orphan' ? ORPHAN_FINALIZER : FOREGROUND_FINALIZER;
  await releaseFinalizer(resourceOf(client, { ref, object }), object, finalizer, signal);
  return {};
}

/** Whether a dependent is to wait for dependents of its own. Where one of these waits already, they own each other in a circle, and somebody must go first. */
function waits({ object }: Found, owned: OwnedObjects): boolean {
  if ((object.metadata.finalizers ?? []).includes(ORPHAN_FINALIZER)) return false;
  const dependents = owned.dependents(object);
  return dependents.length > 0 && !dependents.some((one) => cascadeOf(one.object) === 'foreground');
}

function blocks(dependent: KubeObject, ownerUid: string): boolean {
  return (dependent.metadata.ownerReferences ?? []).some(
    ({ uid, blockOwnerDeletion }) => uid === ownerUid && blockOwnerDeletion === true,
  );
}

async function disown(client: ApiClient, dependent: Found, ownerUid: string, signal: AbortSignal): Promise<void> {
  const { name, resourceVersion, ownerReferences = [] } = dependent.object.metadata;
  const kept = ownerReferences.filter(({ uid }) => uid !== ownerUid);
  const metadata = { resourceVersion, ownerReferences: kept };
  await orGone(resourceOf(client, dependent).patch(name, { metadata }, {}, signal));
}

function resourceOf(client: ApiClient, { ref, object }: { ref: ResourceRef; object: KubeObject }) {
  return client.resource<KubeObject>(ref, object.metadata.namespace);
}
