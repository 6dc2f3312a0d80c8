import type { ScaleMapping } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { applyConfig } from '../apply/apply.ts';
import { askerOf } from '../auth/identity.ts';
import { commit, type WritePlan } from '../registry/commit.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { applyOptions } from '../requests/write-options.ts';
import { replicasOf, withReplicas } from '../table/scale.ts';
import { readApplied } from './applied-body.ts';
import { checkNames, frameOf, instantOf, nextObject } from './next-object.ts';
import { oneScale } from './represent-scale.ts';
import { checkVersion, planOver, standing } from './update.ts';
import { nameOf, type VerbContext } from './verb-context.ts';

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale', origin: 'user' } as const;

/** PATCH of `/scale` with an applied Scale: the number of replicas is its applier's, apart from what the same applies to the object itself. */
export async function applyScale(context: VerbContext, mapping: ScaleMapping): Promise<ServerResponse> {
  const { parts, request, served, target } = context;
  const { kind } = served;
  const { manager, force, dryRun } = applyOptions(request.query);
  const { config: scale } = await readApplied(request, SCALE);
  checkNames(scale.metadata, nameOf(context), target.namespace);
  const frame = { ...frameOf(context, manager), subresource: undefined };
  const plan = (): WritePlan => {
    const before = standing(context);
    const version = scale.metadata.resourceVersion;
    if (version !== undefined && version !== '') checkVersion(context, before.object, version);
    const applier = { kind, manager, subresource: 'scale', now: instantOf(parts), force };
    const { object, managers } = applyConfig(applier, before.object, configOf(context, mapping, scale));
    const metadata = isObject(object.metadata) ? object.metadata : {};
    return planOver(context, before, nextObject(frame, before.object, { ...object, metadata }, managers));
  };
  const written = await commit(parts, plan, { dryRun, caller: request, asker: askerOf(context.identity) });
  if (written === undefined) throw new Error('a scale ended in a removal');
  return oneScale(200, context, written.object, mapping);
}

/** What an applied Scale says of the object it scales. */
function configOf({ served, target }: VerbContext, mapping: ScaleMapping, scale: JsonObject): JsonObject {
  const { name, namespace } = target;
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) } as KubeObject['metadata'];
  const bare: KubeObject = { apiVersion: apiVersionOf(served.kind), kind: served.kind.kind, metadata };
  if (valueAt(scale, ['spec', 'replicas']) === undefined) return bare;
  return withReplicas(bare, mapping, replicasOf(scale, name ?? ''));
}
