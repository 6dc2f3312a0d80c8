import { ApiError } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { checkApplied } from './check-applied.ts';
import { compare } from './compare.ts';
import { conflictError } from './conflicts.ts';
import { EMPTY, union, withoutTop } from './field-set.ts';
import { beyondLastApplied, KUBECTL, withLastAppliedOf } from './last-applied.ts';
import { capped, type Manager, type ManagerId, type Managers, managerKey, storedManagers } from './managed-fields.ts';
import { merge } from './merge.ts';
import { mergeTypeOf } from './merge-type.ts';
import { prune } from './prune.ts';
import { underSchema } from './schema-change.ts';
import { afterChange, conflictsOf, ignoredFields, tracked, withoutFields } from './take-over.ts';
import { toFieldSet } from './to-field-set.ts';
import { changed, type Writer, withoutRecord } from './update.ts';

interface Applier extends Writer {
  /** Takes fields from whoever owns them. */
  readonly force: boolean;
}

export interface Applied {
  /** The object as the configuration wants it, without defaults and without managedFields. `live` itself when nothing differs. */
  readonly object: JsonObject;
  readonly managers: Managers;
}

/** Fields of an object that nobody kept record of belong to this manager once it is applied. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

/**
 * Applies a configuration to what is live (undefined: nothing is): merged by the schema, without what this applier owned and names no more.
 * Throws `Conflict` when it would alter what others own, unless forced, and an error of the real server's when it cannot be merged at all.
 */
export function applyConfig(applier: Applier, live: KubeObject | undefined, config: JsonObject): Applied {
  const { kind, manager } = applier;
  checkMergeable(kind, config);
  const before = withoutRecord(live ?? { apiVersion: apiVersionOf(kind), kind: kind.kind });
  const standing = live === undefined ? new Map<string, Manager>() : recorded(applier, live, before);
  const applied = combine(applier, before, standing, config);
  if (isIdle(applied, before, live)) return { object: before, managers: new Map() };
  if (manager !== KUBECTL || live === undefined) return applied;
  return { ...applied, object: withLastAppliedOf(applied.object, config) };
}

/**
 * Whether an apply changes nothing and owns nothing, such as that of a Namespace of which only the name is said. To begin a record of what others left would be
 * a write, with which whoever applies again and again would find that something had changed.
 */
function isIdle({ object, managers }: Applied, before: JsonObject, live: KubeObject | undefined): boolean {
  if (live === undefined || object !== before || storedManagers(live.metadata.managedFields).size > 0) return false;
  return [...managers.values()].every(({ manager }) => manager === BEFORE_FIRST_APPLY);
}

function checkMergeable(kind: Kind, config: JsonObject): void {
  const wrong = checkApplied(config, mergeTypeOf(kind));
  if (wrong.length === 0) return;
  const told = wrong.length === 1 ? wrong[0] : ['errors:', ...wrong.map((text) => `  ${text}`)].join('\n');
  const where = `${showName(config, 'namespace')}/${showName(config, 'name')}; ${apiVersionOf(kind)}, Kind=${kind.kind}`;
  throw new ApiError('BadRequest', `failed to create typed patch object (${where}): ${told}`, { reasonless: true });
}

function showName(config: JsonObject, field: string): string {
  const value = valueAt(config, ['metadata', field]);
  return typeof value === 'string' ? value : '';
}

/** The managers on record. Where there is none, everything that is live is before-first-apply's. */
function recorded(applier: Applier, live: KubeObject, before: JsonObject): Managers {
  const managers = underSchema(applier.kind, storedManagers(live.metadata.managedFields));
  if (managers.size > 0) return managers;
  return changed({ ...applier, manager: BEFORE_FIRST_APPLY }, managers, undefined, before);
}

function combine(applier: Applier, live: JsonObject, standing: Managers, config: JsonObject): Applied {
  const { kind, subresource, now } = applier;
  const type = mergeTypeOf(kind);
  const ignored = ignoredFields(kind, subresource);
  const id: ManagerId = {
    manager: applier.manager,
    operation: 'Apply',
    apiVersion: apiVersionOf(kind),
    ...(subresource === undefined ? {} : { subresource }),
  };
  const self = managerKey(id);
  const last = standing.get(self);
  const set = withoutTop(toFieldSet(config, type), ignored);
  const managers = new Map<string, Manager>(standing).set(self, { ...id, set, time: last?.time });
  const owned = [...managers.values()].reduce((all, manager) => union(all, manager.set), EMPTY);
  const merged = merge(live, config, type);
  const object = prune(isObject(merged) ? merged : live, last?.set ?? EMPTY, owned, type);
  const comparison = withoutFields(compare(live, object, type), ignored);
  checkConflicts(applier, live, managers, self, comparison);
  const left = afterChange(managers, self, comparison);
  const same = jsonEqual(live, object);
  settle(left, self, same ? last?.time : now);
  return { object: same ? live : object, managers: capped(left) };
}

function checkConflicts(
  { kind, manager, force }: Applier,
  live: JsonObject,
  managers: Managers,
  self: string,
  comparison: ReturnType<typeof compare>,
): void {
  if (force) return;
  const conflicts = conflictsOf(managers, self, comparison);
  if (conflicts.length === 0) return;
  const left = manager === KUBECTL ? beyondLastApplied(kind, live, conflicts) : conflicts;
  if (left.length > 0) throw conflictError(left);
}

/** The applier's own entry: without what nobody owns, gone when that leaves nothing. An apply that changed nothing keeps its time. */
function settle(managers: Map<string, Manager>, self: string, time: string | undefined): void {
  const own = managers.get(self);
  if (own === undefined) return;
  const set = tracked(own.set);
  if (set.children.size === 0) managers.delete(self);
  else managers.set(self, { ...own, set, time });
}
