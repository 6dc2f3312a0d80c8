import { tenantsOnly } from '../guards/lease-guards.ts';
import { admitLeaseSet, leaseSetCauses, leaseSetRights } from '../guards/lease-set-guards.ts';
import { livingTenant } from '../guards/tenant-standing.ts';
import { defineCoppiceKind, type ObjectOf, SCALED_BY_REPLICAS } from '../meta/define-kind.ts';
import { schedules } from '../meta/schedule-schema.ts';
import { conditions, instant, mapOf } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';
import { leaseTemplateSpec } from './lease.ts';

const template = Type.Object(
  {
    metadata: Type.Optional(
      Type.Object(
        {
          labels: Type.Optional(mapOf(Type.String(), { description: 'Labels of each Lease.' })),
          annotations: Type.Optional(mapOf(Type.String(), { description: 'Annotations of each Lease.' })),
        },
        { description: 'What each Lease is labelled with.' },
      ),
    ),
    spec: leaseTemplateSpec,
  },
  { description: 'What each Lease is made from. A change is for Leases that are made after it.' },
);

const spec = Type.Object(
  {
    replicas: Type.Integer({
      minimum: 0,
      maximum: 1000,
      default: 1,
      description: 'How many hosts are leased, where no schedule says another number.',
    }),
    schedules: schedules(),
    template,
  },
  { description: 'How many hosts, and which.' },
);

const status = Type.Object(
  {
    wanted: Type.Optional(Type.Integer({ description: 'How many Leases there should be now.' })),
    replicas: Type.Optional(Type.Integer({ description: 'How many there are that are not over.' })),
    active: Type.Optional(Type.Integer({ description: 'Leases that have a host.' })),
    pending: Type.Optional(Type.Integer({ description: 'Leases that wait for one.' })),
    surplus: Type.Optional(
      Type.Integer({ description: 'Leases beyond what is wanted that stay until their minimum is over.' }),
    ),
    nextRelease: Type.Optional(instant({ description: 'When the first of them can go.' })),
    made: Type.Optional(
      Type.Integer({
        format: 'int64',
        description: 'How many were made since the set was; their names follow from it.',
      }),
    ),
    selector: Type.Optional(Type.String({ description: 'Selects its Leases.' })),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'What it has.' },
);

/** A number of equal Leases. */
export const LeaseSet = defineCoppiceKind({
  kind: 'LeaseSet',
  plural: 'leasesets',
  description: 'Keeps a number of equal Leases. When it shrinks, those go whose minimum is over.',
  shortNames: ['lset'],
  namespaced: true,
  spec,
  status,
  scale: SCALED_BY_REPLICAS,
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Wanted', type: 'integer', jsonPath: '.status.wanted' },
    { name: 'Active', type: 'integer', jsonPath: '.status.active' },
    { name: 'Pending', type: 'integer', jsonPath: '.status.pending' },
    { name: 'Surplus', type: 'integer', jsonPath: '.status.surplus' },
    { name: 'Next Release', type: 'string', jsonPath: '.status.nextRelease', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.status=="False")].reason' },
  ],
  nameRule: 'label',
  rules: {
    admit: admitLeaseSet,
    causes: leaseSetCauses,
    guards: [livingTenant, tenantsOnly, leaseSetRights],
  },
});
export type LeaseSet = ObjectOf<typeof spec, typeof status>;
