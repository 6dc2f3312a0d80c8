import { hostDrain } from '../guards/host-drain.ts';
import { hostFacts } from '../guards/host-guard.ts';
import { hostLease } from '../guards/host-lease.ts';
import { hostScrub } from '../guards/host-scrub.ts';
import { hostInUse } from '../guards/in-use.ts';
import { leasedHost } from '../guards/leased-host.ts';
import { admitHost, hostCompanions } from '../guards/removed-host.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, duration, instant, oneOf, quantity } from '../meta/schema.ts';

import { Type } from '../meta/type.ts';
import { CONTROL_PLANE } from './control-plane.ts';
import { HOST_CERTIFICATE } from './host-certificate.ts';
import { HOST_TOKEN } from './host-token.ts';

const amounts = (what: string) =>
  Type.Optional(
    Type.Object(
      {
        vcpus: Type.Integer({ description: 'Processors.' }),
        memory: quantity({ description: 'Memory.' }),
        disk: Type.Optional(quantity({ description: 'Space for disks and images.' })),
      },
      { description: what },
    ),
  );

const hookReport = Type.Object(
  {
    exitCode: Type.Optional(Type.Integer({ description: 'What it ended with.' })),
    timedOut: Type.Optional(Type.Boolean({ description: 'Whether it was ended at its deadline.' })),
    output: Type.Optional(Type.String({ description: 'The end of what it said.' })),
  },
  { description: "The operator's own cleaning, where the host has one." },
);

const clearing = Type.Object(
  {
    result: oneOf(['Cleared', 'Refused', 'Failed'], {
      description: 'Whether nothing is left; Refused: guests were there, and force was not asked for.',
    }),
    at: instant({ description: 'When.' }),
    message: Type.Optional(Type.String({ description: 'What stood in the way, or what failed.' })),
    guestsRemoved: Type.Integer({ description: 'Guests that were removed.' }),
    workspacesRemoved: Type.Integer({
      description: 'Folders left of guests, with their disks and firmware, that were removed besides.',
    }),
    volumesRemoved: Type.Optional(Type.Integer({ description: 'Files of volumes that were removed.' })),
    hook: Type.Optional(hookReport),
  },
  { description: 'What the nodelet did and found. It answers a scrub once.' },
);

const scrubReport = Type.Object(
  {
    requestedAt: instant({
      description: 'The request this is about: spec.scrub.requestedAt, or when the host came to wait for a scrub.',
      'x-coppice-writer': 'scrub',
    }),
    outcome: oneOf(['Waiting', 'Running', 'Refused', 'Failed', 'Succeeded'], {
      description: 'What came of it.',
      'x-coppice-writer': 'scrub',
    }),
    forced: Type.Optional(
      Type.Boolean({ description: 'Whether what remained was removed.', 'x-coppice-writer': 'scrub' }),
    ),
    automatic: Type.Optional(Type.Boolean({ description: 'Whether the policy asked for it, and no operator.' })),
    by: Type.Optional(Type.String({ description: 'The operator who asked for it.' })),
    takesVolumes: Type.Optional(
      Type.Boolean({
        description:
          'Whether the volumes that lie here are given up to it: it is forced, or they have been stranded for too long.',
        'x-coppice-writer': 'scrub',
      }),
    ),
    startedAt: Type.Optional(instant({ description: 'When the nodelet was told to begin.' })),
    finishedAt: Type.Optional(instant({ description: 'When it was answered.' })),
    hookTimeout: Type.Optional(duration({ description: 'How long the hook of the host may take.' })),
    message: Type.Optional(Type.String({ description: 'What it waits for, what stands in the way, or what failed.' })),
    volumesInTheWay: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 20,
        description:
          'Volumes, as NAMESPACE/NAME, that it waits for: until each is deleted or leased again, or was stranded for as long as the policy says.',
        'x-kubernetes-list-type': 'atomic',
        'x-coppice-writer': 'scrub',
      }),
    ),
    clearing: Type.Optional(clearing),
  },
  { description: 'The last scrub.' },
);

const drainProgress = Type.Object(
  {
    mode: Type.String({ description: 'What was asked.' }),
    startedAt: instant({ description: 'Since when.' }),
    evicting: Type.Integer({ description: 'VMs that go.' }),
    rescheduling: Type.Integer({ description: 'VMs that are started elsewhere before they go.' }),
    kept: Type.Integer({ description: 'VMs that stay.' }),
    waiting: Type.Optional(
      Type.Array(
        Type.Object({
          vm: Type.String({ description: 'The VM, as NAMESPACE/NAME.' }),
          reason: Type.String({ description: 'What it waits for.' }),
        }),
        {
          maxItems: 20,
          description: 'VMs that cannot go yet.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['vm'],
        },
      ),
    ),
  },
  { description: 'How far a drain is.', 'x-coppice-writer': 'drain' },
);

/** The uid of a store, and a revision of it. */
const STORE_AT_REVISION = '^[0-9A-Za-z-]+@[0-9]+$';

const spec = Type.Object(
  {
    group: Type.String({
      default: 'default',
      maxLength: 63,
      description: 'The group of hosts it belongs to; a tenant is placed in one group.',
    }),
    cordoned: Type.Optional(
      Type.Boolean({ description: 'No new VM is placed here while this is true; those here stay.' }),
    ),
    drain: Type.Optional(
      Type.Object(
        {
          mode: oneOf(['Cordon', 'EvictEphemeral', 'Reschedule'], {
            default: 'Cordon',
            description:
              'What goes: with Cordon nothing; with EvictEphemeral VMs that have a ttl or the label coppice.dev/ephemeral=true; with Reschedule those too, and reschedulable ones are started elsewhere first. All others stay.',
          }),
          force: Type.Optional(Type.Boolean({ description: 'A leased host is drained too.' })),
        },
        { description: 'Asks that the host is emptied. It is cordoned with it; to take both away ends it.' },
      ),
    ),
    scrub: Type.Optional(
      Type.Object(
        {
          requestedAt: instant({
            description: 'Asks for a scrub, once: a later instant asks for another. It is answered in status.scrub.',
          }),
          force: Type.Optional(
            Type.Boolean({
              description:
                'VMs bound here are deleted, and guests that no VM object names are removed, disks included; volumes that lie here are lost.',
            }),
          ),
          by: Type.Optional(Type.String({ description: 'Who asked.', 'x-coppice-writer': 'admission' })),
        },
        { description: 'Asks that the host is cleared of everything of its last lessee.' },
      ),
    ),
    removeOrphans: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 63, description: 'The id of a guest.' }), {
        maxItems: 100,
        description:
          'Guests of status.orphans that may go, with their disks. One that a VM object names stays; the id of one that is gone means nothing.',
        'x-kubernetes-list-type': 'set',
      }),
    ),
    forget: Type.Optional(
      Type.Boolean({
        description:
          'Lets the Host be deleted though its nodelet is heard: the VMs bound to it are lost, and its lease ends.',
      }),
    ),
    trustedStore: Type.Optional(
      Type.String({
        maxLength: 253,
        pattern: STORE_AT_REVISION,
        description:
          'Acknowledges that the store was put back or replaced: what status.distrustedStore says, UID@REVISION. Good once; until then nothing is stopped or removed here.',
      }),
    ),
  },
  { description: 'What the operator wants of the host.' },
);

const status = Type.Object(
  {
    capacity: amounts('What the machine has.'),
    allocatable: amounts('What guests may use of it.'),
    free: amounts('What is not held by guests bound here.'),
    os: Type.Optional(oneOf(['darwin', 'linux'], { description: 'The operating system of the host.' })),
    arch: Type.Optional(Type.String({ description: 'The processor architecture, such as arm64.' })),
    chip: Type.Optional(Type.String({ description: 'The processor, such as Apple M4 Pro.' })),
    nested: Type.Optional(Type.Boolean({ description: 'Whether guests can run guests.' })),
    driver: Type.Optional(
      Type.Object(
        {
          name: oneOf(['vz', 'qemu', 'sim'], { description: 'Which hypervisor runs the guests; sim simulates them.' }),
          version: Type.String({ description: 'Its version.' }),
          accelerator: oneOf(['kvm', 'tcg', 'hvf', 'simulated'], { description: 'How guest code is executed.' }),
          acceleratorNote: Type.Optional(Type.String({ description: 'Why a faster way is not used.' })),
          guestOS: Type.Array(oneOf(['macos', 'linux']), { description: 'What it can run.' }),
          volumes: Type.Optional(Type.Boolean({ description: 'Whether it gives guests volumes.' })),
        },
        { description: 'The driver and what it can do.' },
      ),
    ),
    macosSlots: Type.Optional(
      Type.Object(
        {
          total: Type.Integer({ description: 'How many macOS guests may run here: two on a Mac.' }),
          used: Type.Integer({ description: 'How many do.' }),
          leaked: Type.Optional(
            Type.Integer({
              description: 'How many of them no guest has and none can be given: a restart of the machine frees them.',
            }),
          ),
        },
        { description: 'The slots of running macOS guests.' },
      ),
    ),
    lease: Type.Optional(
      Type.Object(
        {
          namespace: Type.String({ description: 'The lessee.' }),
          name: Type.String({ description: 'The Lease.' }),
          uid: Type.String({ description: 'Its uid.' }),
          since: instant({ description: 'When it was granted.' }),
          earliestEnd: Type.Optional(instant({ description: 'When its minimum is over.' })),
          pricePerHour: Type.Optional(Type.String({ description: 'Its price, as it was at the grant.' })),
          currency: Type.Optional(Type.String({ description: 'Of the price.' })),
          ending: Type.Optional(
            Type.Boolean({ description: 'It is over: the VMs of the lessee here go, and no other begins.' }),
          ),
          released: Type.Optional(
            Type.Boolean({
              description:
                'The Lease was deleted before its minimum was over: the host stays held until earliestEnd, for the next Lease of the namespace that fits.',
            }),
          ),
        },
        { description: 'The lease of the whole machine, when there is one.', 'x-coppice-writer': 'lease' },
      ),
    ),
    scrub: Type.Optional(scrubReport),
    drain: Type.Optional(drainProgress),
    pastLeases: Type.Optional(
      Type.Array(
        Type.Object({
          namespace: Type.String({ description: 'The lessee.' }),
          name: Type.String({ description: 'The Lease.' }),
          uid: Type.String({ description: 'Its uid.' }),
          since: instant({ description: 'When it was granted.' }),
          endedAt: instant({ description: 'When it ended.' }),
          billedUntil: instant({ description: 'Up to when it is billed.' }),
          pricePerHour: Type.Optional(Type.String({ description: 'Its price.' })),
          currency: Type.Optional(Type.String({ description: 'Of the price.' })),
          forced: Type.Optional(Type.Boolean({ description: 'An operator ended it before its minimum was over.' })),
          scrubbedAt: Type.Optional(instant({ description: 'When the host was clear after it.' })),
        }),
        {
          maxItems: 20,
          description: 'The leases it had, the newest last: kept when the Lease and its tenant are gone.',
          'x-coppice-writer': 'lease',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['uid', 'since'],
        },
      ),
    ),
    images: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String({ description: 'The Image.' }),
          digest: Type.String({ description: 'The digest of what lies on this host.' }),
          size: quantity({ description: 'Its size.' }),
        }),
        {
          description: 'The images that lie on this host.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    ),
    orphans: Type.Optional(
      Type.Array(
        Type.Object({
          id: Type.String({ description: 'The guest.' }),
          label: Type.String({ description: 'What it was called.' }),
          power: Type.String({ description: 'Whether it runs.' }),
        }),
        {
          description:
            'Guests here that no VM object names. They keep their share of the host and are never removed by themselves.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['id'],
        },
      ),
    ),
    distrustedStore: Type.Optional(
      Type.String({
        description:
          'The store, as UID@REVISION, that was found where another, or a later state, was known. Nothing is stopped or removed until spec.trustedStore says the same.',
      }),
    ),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions({ ScrubPending: ['lease', 'scrub'], Drained: ['drain'] }),
  },
  { description: 'What the nodelet on the host found.' },
);

/** A Mac or Linux machine that runs guests. */
export const Host = defineCoppiceKind({
  kind: 'Host',
  plural: 'hosts',
  description: 'A Mac or Linux machine that runs guests. Its nodelet creates it; operators cordon and group it.',
  shortNames: ['mac'],
  namespaced: false,
  spec,
  status,
  actions: [HOST_TOKEN, HOST_CERTIFICATE, CONTROL_PLANE],
  streams: [
    { name: 'control', description: 'The socket a nodelet keeps to the server.' },
    { name: 'dialback', description: 'What a nodelet opens for one stream, with a one-use ticket.' },
    { name: 'relay', description: 'What another API server opens for one stream of its own clients.' },
  ],
  columns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    {
      name: 'Status',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Schedulable")].reason',
      description: 'Open when it takes new VMs, Leased or Held when those of its lessee; else why not.',
    },
    { name: 'Driver', type: 'string', jsonPath: '.status.driver.name' },
    { name: 'VCPUs', type: 'integer', jsonPath: '.status.allocatable.vcpus' },
    { name: 'Memory', type: 'string', jsonPath: '.status.allocatable.memory' },
    { name: 'Free Memory', type: 'string', jsonPath: '.status.free.memory', description: 'Memory not held by guests.' },
    { name: 'Lessee', type: 'string', jsonPath: '.status.lease.namespace' },
    {
      name: 'Scrub Pending',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="ScrubPending")].status',
      priority: 1,
    },
    { name: 'Cordoned', type: 'boolean', jsonPath: '.spec.cordoned' },
    { name: 'Group', type: 'string', jsonPath: '.spec.group', priority: 1 },
    { name: 'Accelerator', type: 'string', jsonPath: '.status.driver.accelerator', priority: 1 },
  ],
  nameRule: 'label',
  rules: {
    admit: admitHost,
    guards: [hostFacts, hostLease, hostScrub, hostDrain, leasedHost, hostInUse],
    companions: hostCompanions,
  },
});
export type Host = ObjectOf<typeof spec, typeof status>;
