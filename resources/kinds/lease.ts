import { admitLease, heldHost } from '../guards/lease-admission.ts';
import { leaseCompanions } from '../guards/lease-companions.ts';
import { leaseBilled, leaseMinimum, leaseRecord, leaseRights, tenantsOnly } from '../guards/lease-guards.ts';
import { leaseHorizon } from '../guards/lease-horizon.ts';
import { leasePhases } from '../guards/lease-phases.ts';
import { leaseQuota } from '../guards/lease-quota.ts';
import { livingTenant } from '../guards/tenant-standing.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, duration, instant, oneOf, quantity } from '../meta/schema.ts';
import { labelSelector } from '../meta/selector-schema.ts';
import { Type } from '../meta/type.ts';

const release = Type.Object(
  {
    at: Type.Optional(instant({ description: 'When; absent or before the minimum is over means as soon as it is.' })),
    force: Type.Optional(
      Type.Boolean({
        description:
          'Operators only: it ends now, whatever the minimum and whatever at says. It is billed to the minimum all the same.',
      }),
    ),
    by: Type.Optional(Type.String({ maxLength: 253, description: 'Who asked.', 'x-coppice-writer': 'admission' })),
    requestedAt: Type.Optional(instant({ description: 'When it was asked.', 'x-coppice-writer': 'admission' })),
  },
  { description: 'Asks that the lease ends. The object stays as a record.' },
);

const acceptedTerms = Type.Object(
  {
    version: Type.String({ minLength: 1, maxLength: 100, description: 'Which terms.' }),
    hash: Type.Optional(Type.String({ maxLength: 200, description: 'Of their text.' })),
    by: Type.Optional(
      Type.String({ maxLength: 253, description: 'Who accepted them.', 'x-coppice-writer': 'admission' }),
    ),
    at: Type.Optional(instant({ description: 'When they were accepted.', 'x-coppice-writer': 'admission' })),
  },
  { description: 'The terms of the software on the Mac, as the lessee accepted them.' },
);

/** Which host, and for how long. */
const wishes = {
  hostName: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'One host by name; absent means the smallest that fits.',
    }),
  ),
  selector: Type.Optional(labelSelector('Which hosts will do, by their labels.')),
  minVCPUs: Type.Optional(Type.Integer({ minimum: 1, maximum: 1024, description: 'At least these for guests.' })),
  minMemory: Type.Optional(quantity({ description: 'At least this much for guests.' })),
  nested: Type.Optional(Type.Boolean({ description: 'Whether guests must be able to run guests.' })),
  duration: Type.Optional(
    duration({ description: 'How long; absent means until it is released. Less than 24h is raised to 24h.' }),
  ),
  releasePolicy: oneOf(['Refuse', 'WhenAllowed'], {
    default: 'Refuse',
    description:
      'What a deletion before the minimum does: Refuse says no; WhenAllowed removes the object, and the host stays held and billed until the minimum is over.',
  }),
  acceptedTerms: Type.Optional(acceptedTerms),
};

/** What only operators ask for. */
const overrides = {
  allowBusy: Type.Optional(
    Type.Boolean({
      description: 'Operators only: the host may have VMs of the lessee already.',
    }),
  ),
  anyHost: Type.Optional(Type.Boolean({ description: 'Operators only: the host need not be a Mac.' })),
};

/** What a Lease asks for. */
const leaseSpec = Type.Object(
  { ...wishes, release: Type.Optional(release), ...overrides },
  { description: 'What is leased, and how it ends.' },
);

/** What each Lease of a set asks for; when it is released is for the set to say. */
export const leaseTemplateSpec = Type.Object(
  { ...wishes, ...overrides },
  { description: 'What is leased, and how it ends.' },
);

const status = Type.Object(
  {
    phase: Type.Optional(
      oneOf(['Pending', 'Active', 'Ending', 'Ended'], {
        description:
          'Where it is in its life. Pending: it has no host yet; Active: it has one; Ending: it is over, and its guests go; Ended: it has none any more.',
      }),
    ),
    host: Type.Optional(Type.String({ description: 'The leased host.' })),
    hostUID: Type.Optional(Type.String({ description: 'Its uid: another host of that name is not it.' })),
    hostInfo: Type.Optional(
      Type.Object(
        {
          vcpus: Type.Integer({ description: 'Processors for guests.' }),
          memory: quantity({ description: 'Memory for guests.' }),
          os: Type.Optional(Type.String({ description: 'The operating system of the host.' })),
          arch: Type.Optional(Type.String({ description: 'The processor architecture.' })),
          chip: Type.Optional(Type.String({ description: 'The processor, such as Apple M4 Pro.' })),
          nested: Type.Optional(Type.Boolean({ description: 'Whether guests can run guests.' })),
          macosSlots: Type.Optional(Type.Integer({ description: 'How many macOS guests may run.' })),
        },
        { description: 'What the lessee may know of the host.' },
      ),
    ),
    grantedAt: Type.Optional(instant({ description: 'When the host was given.' })),
    earliestEnd: Type.Optional(instant({ description: 'When the minimum is over.' })),
    endsAt: Type.Optional(instant({ description: 'When it ends, where that is known.' })),
    endedAt: Type.Optional(instant({ description: 'When it ended.' })),
    billedUntil: Type.Optional(instant({ description: 'Up to when it is billed, set when it ends.' })),
    pricePerHour: Type.Optional(
      Type.String({ description: 'The price of an hour as it was at the grant, such as 1.95.' }),
    ),
    currency: Type.Optional(Type.String({ description: 'Of the price.' })),
    scrub: Type.Optional(
      Type.Object(
        {
          requestedAt: instant({ description: 'The request it answered.' }),
          startedAt: instant({ description: 'When it began.' }),
          finishedAt: instant({ description: 'When it ended.' }),
          forced: Type.Optional(Type.Boolean({ description: 'Whether what remained was removed.' })),
          guestsRemoved: Type.Integer({ description: 'Guests that were removed.' }),
          workspacesRemoved: Type.Integer({ description: 'Folders left of guests that were removed besides.' }),
          hookExitCode: Type.Optional(Type.Integer({ description: "What the host's own cleaning ended with." })),
        },
        { description: 'How the host was cleared after it; set with the end of that scrub, and kept for good.' },
      ),
    ),
    waiting: Type.Optional(
      Type.Array(
        Type.Object({
          reason: Type.String({ description: 'What turned hosts down.' }),
          hosts: Type.Integer({ description: 'How many.' }),
        }),
        {
          description: 'While it waits: how many hosts were turned down for what.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['reason'],
        },
      ),
    ),
    overrides: Type.Optional(
      Type.Array(
        Type.Object({
          what: oneOf(['ForTenant', 'AllowBusy', 'AnyHost', 'Terms', 'ForcedRelease', 'TenantDeleted'], {
            description: 'Which rule was set aside.',
          }),
          by: Type.String({ description: 'Who did.' }),
          detail: Type.Optional(Type.String({ description: 'Such as the version of terms.' })),
          at: instant({ description: 'When.' }),
        }),
        {
          maxItems: 40,
          description: 'What an operator set aside for it, and what was accepted; kept for good.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['what', 'at'],
        },
      ),
    ),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'What was granted, and until when.' },
);

/** A whole host for one tenant, for at least 24 hours. */
export const Lease = defineCoppiceKind({
  kind: 'Lease',
  plural: 'leases',
  description:
    'A whole host for one tenant, for at least 24 hours. The smallest host that fits is given; nobody else runs anything on it.',
  shortNames: ['ls'],
  namespaced: true,
  spec: leaseSpec,
  status,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Host', type: 'string', jsonPath: '.status.host' },
    { name: 'Earliest End', type: 'string', jsonPath: '.status.earliestEnd' },
    { name: 'Ends', type: 'string', jsonPath: '.status.endsAt' },
    { name: 'Set', type: 'string', jsonPath: '.metadata.labels.coppice\\.dev/lease-set' },
    { name: 'Granted', type: 'string', jsonPath: '.status.grantedAt', priority: 1 },
    { name: 'Billed Until', type: 'string', jsonPath: '.status.billedUntil', priority: 1 },
    { name: 'Price', type: 'string', jsonPath: '.status.pricePerHour', priority: 1 },
    { name: 'In Use', type: 'string', jsonPath: '.status.conditions[?(@.type=="InUse")].status', priority: 1 },
    { name: 'Currency', type: 'string', jsonPath: '.status.currency', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
  ],
  selectableFields: ['status.phase', 'status.host'],
  nameRule: 'label',
  rules: {
    admit: admitLease,
    guards: [
      leaseHorizon,
      livingTenant,
      tenantsOnly,
      leaseRights,
      leaseMinimum,
      leaseBilled,
      leaseRecord,
      leasePhases,
      leaseQuota,
    ],
    companions: leaseCompanions,
    stays: heldHost,
  },
});
export type Lease = ObjectOf<typeof leaseSpec, typeof status>;
