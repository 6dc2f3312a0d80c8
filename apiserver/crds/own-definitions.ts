import { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import { crdOf } from '../../resources/meta/crd-of.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { LAST_APPLIED, withLastApplied } from '../../resources/meta/last-applied.ts';
import { type JsonObject, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { askerOf, OPERATOR } from '../auth/identity.ts';
import { commit, currentOf, type WritePlan } from '../registry/commit.ts';
import type { ServedKind } from '../registry/registry.ts';
import { newObject, nextObject, type WriteFrame } from '../verbs/next-object.ts';
import type { ServerParts } from '../verbs/verb-context.ts';

/**
 * Puts the definitions of kinds that this server has built in into the store, where they are read like any other. Each carries the record
 * that `kubectl apply` of its manifest would leave, so that applying the manifest changes nothing. Nothing is written when they are there.
 */
export async function putOwnDefinitions(
  parts: ServerParts,
  kinds: readonly Kind[],
  signal: AbortSignal,
): Promise<void> {
  const { group, version, plural } = CustomResourceDefinition;
  const served = parts.registry.find(group, version, plural);
  if (served === undefined) throw new Error(`${plural} are not served`);
  // The guard is against everybody else, and what is built in needs no compiling to be found valid.
  const kind = { ...served.kind, rules: { ...served.kind.rules, guards: [] } };
  const unguarded: ServedKind = { ...served, kind, validate: () => [] };
  await Promise.all(kinds.map((one) => putOne(parts, unguarded, one, signal)));
}

async function putOne(parts: ServerParts, served: ServedKind, kind: Kind, signal: AbortSignal): Promise<void> {
  const crd = crdOf(kind);
  const { name } = crd.metadata;
  const wanted = { metadata: {}, ...withLastApplied({ ...crd }) } as JsonObject & { metadata: JsonObject };
  const frame: WriteFrame = { parts, served, identity: OPERATOR, subresource: undefined, manager: 'coppice' };
  const plan = (): WritePlan => {
    const before = currentOf(parts.cache, served.kind, undefined, name);
    const after =
      before === undefined
        ? newObject(frame, wanted, name, undefined)
        : recordOf(before.object) === recordOf(wanted)
          ? before.object
          : nextObject(frame, before.object, wanted);
    return { kind: served.kind, namespace: undefined, name, before, after };
  };
  await commit(parts, plan, { dryRun: false, caller: { signal }, asker: askerOf(OPERATOR) });
}

const recordOf = (object: KubeObject | JsonObject): unknown =>
  valueAt(object, ['metadata', 'annotations', LAST_APPLIED]);
