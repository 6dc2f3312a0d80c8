import { admitNamespace, NAMESPACE_FINALIZER, tenantOwnsNamespace } from '../guards/tenant-namespace.ts';
import type { Cause } from '../meta/api-error.ts';
import type { Condition } from '../meta/condition.ts';
import { defineKind, VERBS } from '../meta/define-kind.ts';
import { invalidField } from '../meta/field-causes.ts';
import { qualifiedNameProblems } from '../meta/names.ts';
import type { KubeObject } from '../meta/object.ts';

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: 'Active' | 'Terminating'; conditions?: Condition[] };
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
  struct: true,
  nameRule: 'label',
  schema: {
    type: 'object',
    description: 'Namespace provides a scope for names.',
    properties: {
      spec: {
        type: 'object',
        default: {},
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
        default: {},
        description: 'Where it is in its life.',
        properties: {
          phase: { type: 'string', enum: ['Active', 'Terminating'], description: 'Active or Terminating.' },
          conditions: {
            type: 'array',
            description: 'What its end waits for.',
            items: {
              type: 'object',
              description: 'One of them.',
              properties: {
                type: { type: 'string', default: '', description: 'What is true or not.' },
                status: { type: 'string', default: '', description: 'True, False or Unknown.' },
                lastTransitionTime: {
                  type: 'string',
                  format: 'date-time',
                  nullable: true,
                  default: null,
                  description: 'When status last changed.',
                },
                reason: { type: 'string', description: 'One word for why.' },
                message: { type: 'string', description: 'The same for people.' },
              },
            },
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
          },
        },
      },
    },
  },
  columns: [{ name: 'Status', type: 'string', jsonPath: '.status.phase' }],
  selectableFields: ['status.phase'],
  rules: {
    admit: admitNamespace,
    guards: [tenantOwnsNamespace],
    causes: finalizerCauses,
    holdsDeletion: (ns) => (ns.spec?.finalizers ?? []).length > 0,
  },
});

function finalizerCauses({ spec }: Namespace): Cause[] {
  return (spec?.finalizers ?? []).flatMap((finalizer) => {
    const problems = qualifiedNameProblems(finalizer);
    if (problems.length === 0 && finalizer !== NAMESPACE_FINALIZER && !finalizer.includes('/'))
      problems.push('name is neither a standard finalizer name nor is it fully qualified');
    return problems.map((problem) => invalidField('spec.finalizers', finalizer, problem));
  });
}
