import { admitNamespace, tenantOwnsNamespace } from '../guards/tenant-namespace.ts';
import { defineKind, VERBS } from '../meta/define-kind.ts';
import type { KubeObject } from '../meta/object.ts';

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: 'Active' | 'Terminating' };
}

/** The core Namespace (k8s.io/api/core/v1). */
export const Namespace = defineKind<Namespace>({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  namespaced: false,
  status: true,
  verbs: VERBS.filter((verb) => verb !== 'deletecollection'),
  generations: false,
  parts: { finalize: ['spec', 'finalizers'] },
  origin: 'core',
  nameRule: 'label',
  schema: {
    type: 'object',
    description: 'Namespace provides a scope for names.',
    properties: {
      spec: {
        type: 'object',
        description: 'What keeps the namespace.',
        properties: {
          finalizers: {
            type: 'array',
            items: { type: 'string' },
            description: 'Must be empty before the namespace goes.',
            'x-kubernetes-list-type': 'atomic',
          },
        },
      },
      status: {
        type: 'object',
        description: 'Where it is in its life.',
        properties: {
          phase: { type: 'string', enum: ['Active', 'Terminating'], description: 'Active or Terminating.' },
        },
      },
    },
  },
  columns: [{ name: 'Status', type: 'string', jsonPath: '.status.phase' }],
  selectableFields: ['status.phase'],
  rules: {
    admit: admitNamespace,
    guards: [tenantOwnsNamespace],
    holdsDeletion: (ns) => (ns.spec?.finalizers ?? []).length > 0,
  },
});
