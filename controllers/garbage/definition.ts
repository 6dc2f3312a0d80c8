import type { ApiClient } from '../../apiserver/client/client.ts';
import { CLEANUP_FINALIZER, CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { ResourceRef } from '../../resources/meta/define-kind.ts';
import type { Outcome } from '../runtime/duty.ts';
import { finalizerStage, releaseFinalizer } from '../runtime/finalizer.ts';
import { emptyResource } from '../runtime/namespace-contents.ts';
import { orGone } from '../runtime/write.ts';

const OBJECTS_AGAIN_MS = 1_000;

/** Whether a definition is being deleted and waits for its objects. */
export function isEndingDefinition(definition: CustomResourceDefinition): boolean {
  return finalizerStage(definition, CLEANUP_FINALIZER) === 'cleanup';
}

/** Deletes every object of a kind whose definition is being deleted, then lets the definition go. Objects with finalizers are waited for. */
export async function endDefinition(
  name: string,
  client: ApiClient,
  signal: AbortSignal,
): Promise<Outcome & { readonly ended?: true }> {
  const definitions = client.resource<CustomResourceDefinition>(CustomResourceDefinition);
  // A cache may be behind: what is released must be what is there.
  const definition = await orGone(definitions.get(name, signal));
  if (definition === undefined || !isEndingDefinition(definition)) return {};
  const ref = servedRef(definition);
  if (ref !== undefined && (await emptyResource(client, ref, signal)) > 0) return { requeueAfterMs: OBJECTS_AGAIN_MS };
  await releaseFinalizer(definitions, definition, CLEANUP_FINALIZER, signal);
  return { ended: true };
}

/** Any served version reaches every object; undefined for a definition whose names were never accepted: it has none. */
function servedRef({ spec, status }: CustomResourceDefinition): ResourceRef | undefined {
  const version = spec.versions.find(({ served }) => served) ?? spec.versions.find(({ storage }) => storage);
  const established = status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True');
  const names = status?.acceptedNames;
  if (version === undefined || names === undefined || established !== true) return undefined;
  const { plural, kind } = names;
  return { group: spec.group, version: version.name, plural, kind, namespaced: spec.scope === 'Namespaced' };
}
