import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import type { Kind } from '../../../resources/meta/define-kind.ts';
import { type DefinitionSource, kindFromCRD } from '../../../resources/meta/kind-from-crd.ts';
import type { JsonObject, KubeObject } from '../../../resources/meta/object.ts';

const manifests = new URL('../../vectors/widgets.crd.yaml', import.meta.url);

/** Widget, the namespaced kind of the recorded vectors, and Gadget, a cluster-scoped one without columns. */
export const [Widget, Gadget] = kinds();

function kinds(): readonly [Kind, Kind] {
  const [widgets, gadgets] = loadAll(readFileSync(manifests, 'utf8')) as DefinitionSource[];
  if (widgets === undefined || gadgets === undefined)
    throw new Error(`two CRDs were expected in ${manifests.pathname}`);
  return [kindFromCRD(widgets), kindFromCRD(gadgets)];
}

/** A valid Widget, but for what a test changes. */
export function aWidget(spec: JsonObject, metadata: JsonObject = {}): KubeObject {
  return {
    apiVersion: 'demo.example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w1', namespace: 'default', ...metadata },
    spec: { size: 'small', color: 'grey', replicas: 1, maxReplicas: 10, ...spec },
  } as JsonObject as KubeObject;
}
