import { tenantFacts } from '../guards/tenant-guard.ts';
import { admitTenant, stayingNamespace, tenantNamespace } from '../guards/tenant-namespace.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, instant, quantity } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';
import { TENANT_TOKEN } from './tenant-token.ts';

const spec = Type.Object(
  {
    displayName: Type.Optional(Type.String({ maxLength: 200, description: 'What people call the team.' })),
    quota: Type.Optional(
      Type.Object(
        {
          maxVMs: Type.Optional(Type.Integer({ minimum: 0, description: 'VMs, running or not.' })),
          maxVCPUs: Type.Optional(Type.Integer({ minimum: 0, description: 'vCPUs of running VMs.' })),
          maxMemory: Type.Optional(quantity({ description: 'Memory of running VMs.' })),
          maxLeasedHosts: Type.Optional(Type.Integer({ minimum: 0, description: 'Leased hosts.' })),
          maxVolumeSize: Type.Optional(quantity({ description: 'Sizes of its volumes together.' })),
        },
        {
          description:
            'What the team may hold at once. A limit that is absent is that of Policy.spec.defaultQuota, or none.',
        },
      ),
    ),
    disabled: Type.Optional(
      Type.Boolean({
        description: 'Its members and keys are refused, and nothing new begins; what runs, runs on.',
      }),
    ),
    budget: Type.Optional(
      Type.Object(
        {
          monthly: Type.String({
            pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$',
            description: 'In the currency of the price list. Nothing is stopped when it is over.',
          }),
        },
        { description: 'What the team means to spend.' },
      ),
    ),
    forceDelete: Type.Optional(
      Type.Object(
        {
          requestedAt: instant({ description: 'When it was asked.' }),
          by: Type.Optional(Type.String({ description: 'Who asked.', 'x-coppice-writer': 'admission' })),
        },
        {
          description:
            'Operators only: a deletion ends its leases at once, billed to their minimum, and does not wait for hosts that are held for it: those stay held to the end of their minimum. Its volumes are lost.',
        },
      ),
    ),
    hostGroup: Type.Optional(
      Type.String({ maxLength: 63, description: 'The group of hosts its VMs are placed in; absent means any.' }),
    ),
  },
  { description: 'What the team may do.' },
);

const status = Type.Object(
  {
    namespace: Type.Optional(Type.String({ description: 'Where it lives.' })),
    networkIndex: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The number of its network, given once and kept: tenant n has 10.230.n.0/24.',
      }),
    ),
    used: Type.Optional(
      Type.Object(
        {
          vms: Type.Integer({ description: 'Admitted VMs.' }),
          vcpus: Type.Integer({ description: 'vCPUs of running VMs.' }),
          memory: quantity({ description: 'Memory of running VMs.' }),
          leases: Type.Optional(Type.Integer({ description: 'Leases that wait for a host or have one.' })),
          leasedHosts: Type.Optional(
            Type.Integer({ description: 'Hosts it leases, or holds until a minimum is over.' }),
          ),
          volumes: Type.Optional(Type.Integer({ description: 'Volumes that are not lost.' })),
          volumeSize: Type.Optional(quantity({ description: 'Their sizes together.' })),
        },
        { description: 'What it holds now.' },
      ),
    ),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'What the team has.' },
);

/** A team. It lives in the namespace of its name. */
export const Tenant = defineCoppiceKind({
  kind: 'Tenant',
  plural: 'tenants',
  description:
    'A team that rents Macs and runs VMs. It lives in the namespace of its name, which comes and goes with it.',
  shortNames: ['tn'],
  namespaced: false,
  spec,
  status,
  actions: [TENANT_TOKEN],
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Enabled', type: 'string', jsonPath: '.status.conditions[?(@.type=="Enabled")].status' },
    { name: 'VMs', type: 'integer', jsonPath: '.status.used.vms' },
    { name: 'VCPUs', type: 'integer', jsonPath: '.status.used.vcpus' },
    { name: 'Memory', type: 'string', jsonPath: '.status.used.memory' },
    { name: 'Leases', type: 'integer', jsonPath: '.status.used.leases' },
    { name: 'Leased Hosts', type: 'integer', jsonPath: '.status.used.leasedHosts' },
    { name: 'Volumes', type: 'integer', jsonPath: '.status.used.volumes', priority: 1 },
    { name: 'Volume Size', type: 'string', jsonPath: '.status.used.volumeSize', priority: 1 },
    { name: 'Max VMs', type: 'integer', jsonPath: '.spec.quota.maxVMs', priority: 1 },
    { name: 'Max VCPUs', type: 'integer', jsonPath: '.spec.quota.maxVCPUs', priority: 1 },
    { name: 'Max Memory', type: 'string', jsonPath: '.spec.quota.maxMemory', priority: 1 },
    { name: 'Max Leased Hosts', type: 'integer', jsonPath: '.spec.quota.maxLeasedHosts', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
    { name: 'Display Name', type: 'string', jsonPath: '.spec.displayName', priority: 1 },
  ],
  nameRule: 'label',
  rules: { admit: admitTenant, guards: [tenantFacts, stayingNamespace], companions: tenantNamespace },
});
export type Tenant = ObjectOf<typeof spec, typeof status>;
