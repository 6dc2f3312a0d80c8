import type { Logger } from '../../resources/ambient/log.ts';
import { DEFINITIONS } from '../../resources/guards/refs.ts';
import type { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';
import { jsonEqual, type KubeObject } from '../../resources/meta/object.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Registry } from '../registry/registry.ts';
import { kindsOfDefinition } from './definition-kinds.ts';
import { isReserved } from './definition-rules.ts';

interface FollowDeps {
  readonly cache: WatchCache;
  readonly registry: Registry;
  readonly builtIn: readonly Kind[];
  readonly log: Logger;
}

/**
 * Keeps the registry to what the definitions in the store say, those there now and every later change, in the step in which the cache sees
 * it: so all servers over one store serve the same kinds, also after a restart. The returned function stops it.
 */
export function followDefinitions({ cache, registry, builtIn, log }: FollowDeps): () => void {
  const taken = new Set(builtIn.map(resourceId));
  const definitions = cache.resource(resourceId(DEFINITIONS));
  const serve = (definition: KubeObject) => {
    const { group, plural } = identityOf(definition);
    const id = resourceId({ group, plural });
    if (taken.has(id) || isReserved(group)) return;
    try {
      const kinds = kindsOfDefinition(definition as CustomResourceDefinition);
      if (kinds.length === 0) registry.remove(id);
      else registry.serve(kinds);
    } catch (error) {
      // One that was stored by a server with other rules must not keep this one from starting.
      registry.remove(id);
      const why = error instanceof Error ? error.message : String(error);
      log.error('a CustomResourceDefinition in the store cannot be served', {
        name: definition.metadata.name,
        error: why,
      });
    }
  };
  for (const { object } of definitions.sorted()) serve(object);
  return definitions.listen(({ removed, current, previous }) => {
    if (!removed) {
      if (previous === undefined || servesOtherwise(previous.object, current.object)) serve(current.object);
      return;
    }
    const id = resourceId(identityOf(current.object));
    if (!taken.has(id)) registry.remove(id);
  });
}

/** A definition is named `plural.group`, whatever else of it can be read. */
function identityOf({ metadata }: KubeObject): { readonly group: string; readonly plural: string } {
  const dot = metadata.name.indexOf('.');
  return { plural: metadata.name.slice(0, Math.max(0, dot)), group: metadata.name.slice(dot + 1) };
}

/** Watches end when a kind changes, so not for what does not change it, such as a label of its definition. */
function servesOtherwise(before: KubeObject, after: KubeObject): boolean {
  const what = (object: KubeObject) => {
    const { spec, status, metadata } = object as CustomResourceDefinition;
    const { acceptedNames, conditions = [] } = status ?? {};
    const established = conditions.find(({ type }) => type === 'Established')?.status;
    // Deletion itself changes only what is not served until then.
    const served = Array.isArray(spec?.versions) && spec.versions.some((version) => version?.served === true);
    return { spec, acceptedNames, established, ending: !served && metadata.deletionTimestamp !== undefined };
  };
  return !jsonEqual(what(before), what(after));
}
