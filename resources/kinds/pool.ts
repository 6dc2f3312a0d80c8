import { membersGoWithIt, operatorsShare, poolCauses } from '../guards/pool-guards.ts';
import { livingTenant } from '../guards/tenant-standing.ts';
import { knownSize } from '../guards/vm-admission.ts';
import { defineCoppiceKind, type ObjectOf, SCALED_BY_REPLICAS } from '../meta/define-kind.ts';
import { schedules } from '../meta/schedule-schema.ts';
import { conditions, oneOf } from '../meta/schema.ts';
import { labelSelector } from '../meta/selector-schema.ts';
import { vmSize } from '../meta/size-schema.ts';
import { Type } from '../meta/type.ts';

const spec = Type.Object(
  {
    image: Type.String({ minLength: 1, maxLength: 253, description: 'The Image its members start from.' }),
    size: vmSize(),
    class: oneOf(['flex', 'reserved'], {
      default: 'flex',
      description: 'flex is guaranteed a part of each vCPU and bursts beyond it; reserved is guaranteed all of it.',
    }),
    hostSelector: Type.Optional(labelSelector('Which hosts its members may run on, by their labels.')),
    replicas: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 1,
      description: 'How many members are kept warm, where no schedule says another number.',
    }),
    schedules: schedules(),
    shared: Type.Optional(
      Type.Boolean({
        description:
          'Operators only: every tenant may take a member where the policy allows it. Members run on hosts that nobody leases.',
      }),
    ),
  },
  { description: 'What is kept warm.' },
);

const status = Type.Object(
  {
    wanted: Type.Optional(Type.Integer({ description: 'How many members there should be now.' })),
    replicas: Type.Optional(Type.Integer({ description: 'How many there are.' })),
    ready: Type.Optional(Type.Integer({ description: 'Members that are up and idle: a launch takes one.' })),
    warming: Type.Optional(Type.Integer({ description: 'Members on the way up.' })),
    claimed: Type.Optional(
      Type.Integer({ format: 'int64', description: 'How many were taken since the pool was made.' }),
    ),
    selector: Type.Optional(Type.String({ description: 'Selects its members.' })),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'How warm it is.' },
);

/** VMs of an image, booted and idle: a launch takes one. */
export const Pool = defineCoppiceKind({
  kind: 'Pool',
  plural: 'pools',
  description:
    'VMs of an image that are booted and idle. A new VM of the same image and size takes one, and is up at once.',
  shortNames: [],
  namespaced: true,
  spec,
  status,
  scale: SCALED_BY_REPLICAS,
  columns: [
    { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    { name: 'Wanted', type: 'integer', jsonPath: '.status.wanted' },
    { name: 'Ready', type: 'integer', jsonPath: '.status.ready' },
    { name: 'Warming', type: 'integer', jsonPath: '.status.warming' },
    { name: 'Claimed', type: 'integer', jsonPath: '.status.claimed' },
    { name: 'Shared', type: 'boolean', jsonPath: '.spec.shared', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.status=="False")].reason' },
  ],
  nameRule: 'label',
  rules: { causes: poolCauses, guards: [livingTenant, knownSize, operatorsShare, membersGoWithIt] },
});
export type Pool = ObjectOf<typeof spec, typeof status>;
