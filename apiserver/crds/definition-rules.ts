import { fence, type Guard, NO_FENCES } from '../../resources/guards/guard.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import { CLEANUP_FINALIZER, CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { AdmissionContext, CompanionWrite, Kind, KindRules } from '../../resources/meta/define-kind.ts';
import { LAST_APPLIED } from '../../resources/meta/last-applied.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import { takenNames } from './accepted-names.ts';
import { definitionCauses } from './definition-causes.ts';
import { withStatus } from './definition-status.ts';
import { isSound, soundDefinitions } from './sound-definition.ts';

/** How many definitions that waited for a name may get it in the write that frees it. */
const MAX_HEIRS = 30;

/** The kind of definitions as a server has it that has these kinds built in. */
export function definitionKind(builtIn: readonly Kind[]): Kind<CustomResourceDefinition> {
  return Object.freeze({
    ...CustomResourceDefinition,
    rules: { ...CustomResourceDefinition.rules, ...definitionRules(builtIn) },
  });
}

function definitionRules(builtIn: readonly Kind[]): KindRules<CustomResourceDefinition> {
  const own = new Set(builtIn.map((kind) => `${kind.plural}.${kind.group}`));
  return {
    admit(draft, previous, context) {
      // Nothing can be said about what has not even the right shape: validation, which comes next, refuses it.
      return isSound(draft) ? admit(draft, previous, context, builtIn, own) : draft;
    },
    causes: (object, previous) => definitionCauses(object, soundOr(previous)),
    guards: [readView(own)],
    companions: (after, before, context) => heirs(after, soundOr(before), context, builtIn),
  };
}

const soundOr = (definition: CustomResourceDefinition | undefined) =>
  definition !== undefined && isSound(definition) ? definition : undefined;

function admit(
  draft: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
  { world, nowMs }: AdmissionContext,
  builtIn: readonly Kind[],
  own: ReadonlySet<string>,
): CustomResourceDefinition {
  // Applying the manifest of a kind of ours, by whatever tool, changes no more than who keeps record of it.
  if (previous !== undefined && own.has(draft.metadata.name) && sameButRecords(draft, previous)) return previous;
  const named = withNames(draft);
  const ending =
    draft.metadata.deletionTimestamp !== undefined && previous?.metadata.deletionTimestamp === undefined
      ? withFinalizer(named)
      : named;
  return withStatus(ending, takenIn(world, ending, builtIn), nowMs);
}

function takenIn(world: WorldView, { spec, metadata }: CustomResourceDefinition, builtIn: readonly Kind[]) {
  // The definition of a kind that is built in asks for the names of that very kind.
  const others = builtIn.filter((kind) => `${kind.plural}.${kind.group}` !== metadata.name);
  return takenNames(spec.group, metadata.name, others, soundDefinitions(world));
}

function sameButRecords(a: CustomResourceDefinition, b: CustomResourceDefinition): boolean {
  const rest = ({ metadata, ...object }: CustomResourceDefinition) => {
    const { annotations = {}, managedFields: _, ...kept } = metadata as typeof metadata & { managedFields?: unknown };
    const { [LAST_APPLIED]: __, ...others } = annotations;
    return { ...object, metadata: { ...kept, annotations: others } };
  };
  return jsonEqual(rest(a), rest(b));
}

/** The names that follow from the kind where they are not given. */
function withNames(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  const { names } = spec;
  const singular = names.singular || names.kind.toLowerCase();
  const listKind = names.listKind || `${names.kind}List`;
  return { ...definition, spec: { ...spec, names: { ...names, singular, listKind } } };
}

function withFinalizer(definition: CustomResourceDefinition): CustomResourceDefinition {
  const finalizers = [...new Set([...(definition.metadata.finalizers ?? []), CLEANUP_FINALIZER])];
  return { ...definition, metadata: { ...definition.metadata, finalizers } };
}

/** Our kinds are described, not defined, by their definitions; their group and those of Kubernetes are nobody else's. */
function readView(own: ReadonlySet<string>): Guard<CustomResourceDefinition> {
  return {
    name: 'read-view',
    lasting: true,
    // Two definitions that want one name in a group must see each other.
    fences({ before, after }) {
      const group = (after ?? soundOr(before))?.spec.group ?? '';
      const renamed = after === undefined || !jsonEqual(soundOr(before)?.spec.names, after.spec.names);
      return renamed && !isReserved(group) ? { bump: [fence.unique(`crd/${group}`)], compare: [] } : NO_FENCES;
    },
    judge({ before, after }) {
      const { metadata, spec } = (after ?? before) as CustomResourceDefinition;
      if (before !== undefined && own.has(metadata.name)) {
        const what = after === undefined || after.metadata.deletionTimestamp !== undefined ? 'deleted' : 'changed';
        const message = `it describes a kind that this server has built in, and cannot be ${what}`;
        return { answer: 'Forbidden', cause: 'BuiltInKind', message };
      }
      if (after === undefined || !isReserved(spec.group)) return undefined;
      const message = `the group ${spec.group} is reserved: choose one that is neither under coppice.dev nor under k8s.io`;
      return { answer: 'Forbidden', cause: 'ReservedGroup', message };
    },
  };
}

/** Groups in which nobody may define kinds. */
export function isReserved(group: string): boolean {
  return ['coppice.dev', 'k8s.io'].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

/** Definitions that waited for a name which this write frees: they are accepted by the same write. */
function heirs(
  after: CustomResourceDefinition | undefined,
  before: CustomResourceDefinition | undefined,
  { world, nowMs }: AdmissionContext,
  builtIn: readonly Kind[],
): readonly CompanionWrite[] {
  if (before === undefined || jsonEqual(before.status?.acceptedNames, after?.status?.acceptedNames)) return [];
  const { group } = before.spec;
  const inGroup = new Map(
    [...soundDefinitions(world)]
      .filter((one) => one.spec.group === group && one.metadata.name !== before.metadata.name)
      .map((one) => [one.metadata.name, one]),
  );
  if (after !== undefined) inGroup.set(after.metadata.name, after);
  const writes: CompanionWrite[] = [];
  for (const one of inGroup.values()) {
    if (one === after || !waitsForName(one) || writes.length === MAX_HEIRS) continue;
    const object = withStatus(one, takenNames(group, one.metadata.name, builtIn, inGroup.values()), nowMs);
    if (jsonEqual(object, one)) continue;
    inGroup.set(one.metadata.name, object);
    writes.push({ resource: CustomResourceDefinition, name: one.metadata.name, object });
  }
  return writes;
}

function waitsForName({ status }: CustomResourceDefinition): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'NamesAccepted' && is === 'False') === true;
}
