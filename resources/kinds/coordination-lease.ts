import { defineKind } from '../meta/define-kind.ts';
import type { KubeObject } from '../meta/object.ts';

export interface CoordinationLease extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
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
  generations: false,
  schema: {
    type: 'object',
    description: 'A lock with a heartbeat.',
    properties: {
      spec: {
        type: 'object',
        description: 'Who holds it and since when.',
        properties: {
          holderIdentity: { type: 'string', description: 'Who holds it.' },
          leaseDurationSeconds: {
            type: 'integer',
            format: 'int32',
            description: 'How long others wait after a renewal.',
          },
          acquireTime: { type: 'string', format: 'date-time', nullable: true, description: 'When it was taken.' },
          renewTime: { type: 'string', format: 'date-time', nullable: true, description: 'When it was last renewed.' },
          leaseTransitions: { type: 'integer', format: 'int32', description: 'How often it changed hands.' },
          strategy: { type: 'string', description: 'How a holder is picked.' },
          preferredHolder: { type: 'string', description: 'Who is asked to take over.' },
        },
      },
    },
  },
  columns: [{ name: 'Holder', type: 'string', jsonPath: '.spec.holderIdentity' }],
});
