import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { defineKind, type Kind } from '../../resources/meta/define-kind.ts';
import { isObject, type KubeObject, valueAt } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';

const CRDS = join(import.meta.dirname, '..', 'kubectl', 'files', 'crds.yaml');

function schemaOf(name: string): Schema {
  const crd = loadAll(readFileSync(CRDS, 'utf8')).find((one) => valueAt(one, ['metadata', 'name']) === name);
  const versions = valueAt(crd, ['spec', 'versions']);
  const schema = valueAt(Array.isArray(versions) ? versions[0] : undefined, ['schema', 'openAPIV3Schema']);
  if (!isObject(schema)) throw new Error(`${CRDS} has no schema of ${name}`);
  return schema as Schema;
}

/** The user's kind of the recorded scenarios: namespaced, with status, scale and columns. */
export const WIDGET: Kind = defineKind({
  group: 'demo.example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  shortNames: ['wg'],
  categories: ['demo'],
  namespaced: true,
  origin: 'user',
  status: true,
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  columns: [
    { name: 'Size', type: 'string', jsonPath: '.spec.size', description: 'How large the widget is' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Owner', type: 'string', jsonPath: '.spec.owner.name', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema: schemaOf('widgets.demo.example.com'),
});

/** The other one: cluster-wide, with nothing but a schema. */
export const GADGET: Kind = defineKind({
  group: 'demo.example.com',
  version: 'v1',
  kind: 'Gadget',
  plural: 'gadgets',
  shortNames: ['gd'],
  categories: ['demo'],
  namespaced: false,
  origin: 'user',
  schema: schemaOf('gadgets.demo.example.com'),
});

/** A widget as the server stores it; created at 2030-01-01 unless told otherwise. */
export function aWidget(over: { name?: string; spec?: unknown; status?: unknown } = {}): KubeObject {
  return {
    apiVersion: 'demo.example.com/v1',
    kind: 'Widget',
    metadata: {
      name: over.name ?? 'w1',
      namespace: 'demo',
      uid: '7e57ab1e-0000-4000-8000-000000000001',
      resourceVersion: '7',
      generation: 1,
      creationTimestamp: '2030-01-01T00:00:00Z',
      labels: { app: 'demo' },
    },
    spec: 'spec' in over ? over.spec : { size: 'small', replicas: 1 },
    ...(over.status === undefined ? {} : { status: over.status }),
  };
}
