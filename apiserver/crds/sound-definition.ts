import { DEFINITIONS } from '../../resources/guards/refs.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { KubeObject } from '../../resources/meta/object.ts';
import { compileSchemaCheck } from '../admission/schema-check.ts';

let check: ReturnType<typeof compileSchemaCheck> | undefined;
const judged = new WeakMap<KubeObject, boolean>();

/** Whether a definition has the shape its type says. One that a client sent may not, nor one that something else put into the store. */
export function isSound(definition: KubeObject): definition is CustomResourceDefinition {
  const known = judged.get(definition);
  if (known !== undefined) return known;
  const { apiVersion: _, kind: __, metadata: ___, ...body } = definition;
  check ??= compileSchemaCheck(CustomResourceDefinition.schema);
  const sound = check(body).length === 0;
  judged.set(definition, sound);
  return sound;
}

/** The definitions of the world that can be reasoned about. */
export function* soundDefinitions(world: WorldView): Iterable<CustomResourceDefinition> {
  for (const one of world.list(DEFINITIONS)) if (isSound(one)) yield one;
}
