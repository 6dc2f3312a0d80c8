import type { Cause } from '../meta/api-error.ts';
import { defineKind } from '../meta/define-kind.ts';
import { forbiddenChange, invalidField } from '../meta/field-causes.ts';
import { qualifiedNameProblems } from '../meta/names.ts';
import type { KubeObject } from '../meta/object.ts';

export interface CoordinationLease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
    strategy?: string;
    preferredHolder?: string;
  };
}

/** The coordination Lease (k8s.io/api/coordination/v1): heartbeats and leader election. Not a rented Mac. */
export const CoordinationLease = defineKind<CoordinationLease>({
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  origin: 'core',
  struct: true,
  generations: false,
  schema: {
    type: 'object',
    description: 'A lock with a heartbeat.',
    properties: {
      spec: {
        type: 'object',
        default: {},
        description: 'Who holds it and since when.',
        properties: {
          holderIdentity: { type: 'string', nullable: true, description: 'Who holds it.' },
          leaseDurationSeconds: {
            type: 'integer',
            format: 'int32',
            nullable: true,
            description: 'How long others wait after a renewal.',
          },
          acquireTime: {
            type: 'string',
            format: 'date-time',
            'x-coppice-micro-time': true,
            nullable: true,
            description: 'When it was taken.',
          },
          renewTime: {
            type: 'string',
            format: 'date-time',
            'x-coppice-micro-time': true,
            nullable: true,
            description: 'When it was last renewed.',
          },
          leaseTransitions: {
            type: 'integer',
            format: 'int32',
            nullable: true,
            description: 'How often it changed hands.',
          },
          strategy: { type: 'string', nullable: true, description: 'How a holder is picked.' },
          preferredHolder: { type: 'string', nullable: true, description: 'Who is asked to take over.' },
        },
      },
    },
  },
  columns: [{ name: 'Holder', type: 'string', jsonPath: '.spec.holderIdentity' }],
  rules: { causes: leaseCauses },
});

/** Strategies that Kubernetes has itself; others must say whose they are. */
const OWN_STRATEGIES = ['OldestEmulationVersion'];

function leaseCauses({ spec = {} }: CoordinationLease): Cause[] {
  const { leaseDurationSeconds: seconds, leaseTransitions: transitions, strategy, preferredHolder } = spec;
  return [
    ...(seconds !== undefined && seconds <= 0
      ? [invalidField('spec.leaseDurationSeconds', seconds, 'must be greater than 0')]
      : []),
    ...(transitions !== undefined && transitions < 0
      ? [invalidField('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]
      : []),
    ...(strategy === undefined ? [] : strategyCauses(strategy)),
    ...((preferredHolder ?? '') !== '' && (strategy ?? '') === ''
      ? [forbiddenChange('spec.preferredHolder', 'may only be specified when `strategy` is defined')]
      : []),
  ];
}

function strategyCauses(strategy: string): Cause[] {
  if (OWN_STRATEGIES.includes(strategy)) return [];
  const problems = qualifiedNameProblems(strategy);
  if (problems.length === 0 && !strategy.includes('/')) problems.push('must be fully qualified');
  return problems.map((problem) => invalidField('spec.strategy', strategy, problem));
}
