import { inForce } from '../guards/in-force.ts';
import { onlyDefault } from '../guards/only-default.ts';
import { policyFacts } from '../guards/policy-facts.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, duration, oneOf, quantity } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';
import { JOIN_TOKEN, SERVER_JOIN } from './server-join.ts';

const spec = Type.Object(
  {
    requireLeaseForMacOS: Type.Boolean({
      default: true,
      description: 'Whether macOS guests run only on Macs leased to their tenant.',
    }),
    exclusiveLeasedHosts: Type.Boolean({
      default: true,
      description: "Whether a leased Mac runs only its lessee's VMs.",
    }),
    hostGroups: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String({ maxLength: 63, description: 'The group, as in Host.spec.group.' }),
          flexShare: Type.String({
            pattern: '^1/[1-9][0-9]{0,2}$',
            default: '1/4',
            description: 'The part of each vCPU that a flex VM is guaranteed in this group.',
          }),
        }),
        {
          maxItems: 100,
          description: 'What holds in one group of hosts.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    ),
    defaultQuota: Type.Optional(
      Type.Object(
        {
          maxVMs: Type.Optional(Type.Integer({ minimum: 0, description: 'VMs.' })),
          maxVCPUs: Type.Optional(Type.Integer({ minimum: 0, description: 'vCPUs of running VMs.' })),
          maxMemory: Type.Optional(quantity({ description: 'Memory of running VMs.' })),
          maxLeasedHosts: Type.Optional(Type.Integer({ minimum: 0, description: 'Leased hosts.' })),
          maxVolumeSize: Type.Optional(quantity({ description: 'Sizes of volumes together.' })),
        },
        { description: 'Limits of tenants that set none of their own.' },
      ),
    ),
    minLeaseHours: Type.Integer({
      default: 24,
      minimum: 0,
      maximum: 8784,
      description: 'The least a lease lasts, in hours; less than 24 is raised to 24.',
    }),
    scrubMode: oneOf(['Manual', 'Automatic'], {
      default: 'Manual',
      description: 'Whether a host is scrubbed by itself once its lease ended, or when an operator asks.',
    }),
    scrubHookTimeout: duration({
      default: '10m',
      description: "How long a host's own scrub hook may take before the scrub failed.",
    }),
    strandedVolumeRetention: duration({
      default: '72h',
      description:
        'How long a volume that is stranded on a host stands in the way of its scrub; after that the data goes with it.',
    }),
    allowSharedPoolClaims: Type.Boolean({
      default: false,
      description:
        'Whether tenants may take members of shared pools. Such a guest has been in the network of its pool before.',
    }),
    requiredTerms: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 100,
        description: 'The version of terms that a Lease must accept before it is granted; absent means none.',
      }),
    ),
  },
  { description: 'What the operator decides for the whole fleet. An absent field means its default.' },
);

const status = Type.Object(
  {
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'Whether the rules are in force.' },
);

/** The one page of fleet-wide rules; always named `default`. */
export const Policy = defineCoppiceKind({
  kind: 'Policy',
  plural: 'policies',
  description: 'The rules of the fleet. There is one, named default; deleting it resets it.',
  shortNames: [],
  namespaced: false,
  spec,
  status,
  actions: [JOIN_TOKEN, SERVER_JOIN],
  columns: [
    { name: 'Lease for macOS', type: 'boolean', jsonPath: '.spec.requireLeaseForMacOS' },
    { name: 'Exclusive', type: 'boolean', jsonPath: '.spec.exclusiveLeasedHosts' },
  ],
  rules: { admit: inForce, guards: [policyFacts, onlyDefault('Policy')] },
});
export type Policy = ObjectOf<typeof spec, typeof status>;
