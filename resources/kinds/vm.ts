import { hostRoom } from '../guards/host-guard.ts';
import { immutable } from '../guards/immutable.ts';
import { imageUse } from '../guards/in-use.ts';
import { memberStays } from '../guards/member-stays.ts';
import { ownGuest } from '../guards/own-guest.ts';
import { standIn } from '../guards/stand-in.ts';
import { vmQuota } from '../guards/tenant-guard.ts';
import { enabledTenant, livingTenant } from '../guards/tenant-standing.ts';
import { admitVM, knownSize } from '../guards/vm-admission.ts';
import { vmCompanions } from '../guards/vm-companions.ts';
import { vmVolumes } from '../guards/vm-volumes.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, duration, instant, oneOf, quantity } from '../meta/schema.ts';
import { labelSelector } from '../meta/selector-schema.ts';
import { vmSize } from '../meta/size-schema.ts';
import { Type } from '../meta/type.ts';

const resolved = Type.Object(
  {
    digest: Type.String({ description: 'What the image was when the VM was admitted.' }),
    guestOS: oneOf(['macos', 'linux'], { description: 'The operating system of the image.' }),
    vcpus: Type.Integer({ description: 'Processors.' }),
    memory: quantity({ description: 'Memory.' }),
    disk: Type.Optional(quantity({ description: 'Disk.' })),
  },
  { description: 'What the wish came to when the VM was admitted to its quota.', 'x-coppice-writer': 'admission' },
);

const fromPool = Type.Object(
  {
    name: Type.String({ description: 'The pool.' }),
    namespace: Type.String({ description: 'Its namespace; another than that of the VM for a shared pool.' }),
    at: instant({ description: 'When it was taken. Before that the guest was not on the account of this tenant.' }),
  },
  { description: 'The pool whose member it took over.', 'x-coppice-writer': 'admission' },
);

const spec = Type.Object(
  {
    image: Type.String({ minLength: 1, maxLength: 253, description: 'The Image it starts from.' }),
    size: vmSize(),
    class: oneOf(['flex', 'reserved'], {
      default: 'flex',
      description: 'flex is guaranteed a part of each vCPU and bursts beyond it; reserved is guaranteed all of it.',
    }),
    power: oneOf(['Running', 'Stopped', 'Paused'], {
      default: 'Running',
      description: 'Whether the guest should run.',
    }),
    ttl: Type.Optional(duration({ description: 'How long after its creation the VM is deleted, such as 8h.' })),
    hostSelector: Type.Optional(labelSelector('Which hosts it may run on, by their labels.')),
    volumes: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String({ minLength: 1, maxLength: 40, description: 'A Volume of the namespace.' }),
        }),
        {
          maxItems: 16,
          description: 'The volumes it has, for good. They lie on one host, which is where it runs. Linux guests only.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    ),
    reschedulable: Type.Optional(
      Type.Boolean({
        description:
          'Whether a drain may start it anew on another host before it ends here. What is on its disk does not come along.',
      }),
    ),
    claimable: Type.Optional(
      Type.Boolean({
        description: 'It waits to be taken: another VM may become the one whose guest this is.',
        'x-coppice-writer': 'pool',
      }),
    ),
    standsInFor: Type.Optional(
      Type.Object(
        {
          name: Type.String({ maxLength: 63, description: 'The VM.' }),
          uid: Type.String({ maxLength: 63, description: 'Its uid.' }),
        },
        {
          description:
            "It was started for another VM of the namespace, whose host is drained: once it is ready its guest becomes that VM's, and it goes with the guest that was. Together they count once in the quota.",
          'x-coppice-writer': 'drain',
        },
      ),
    ),
    hostName: Type.Optional(
      Type.String({
        maxLength: 253,
        description: 'The host it is bound to.',
        'x-coppice-writer': ['placement', 'drain'],
      }),
    ),
    epoch: Type.Optional(
      Type.Integer({
        format: 'int64',
        minimum: 1,
        description: 'Counts bindings; an older one never wins.',
        'x-coppice-writer': ['placement', 'drain'],
      }),
    ),
    guestID: Type.Optional(
      Type.String({
        maxLength: 63,
        description:
          'The guest it is, on its host. A member of a pool that is taken leaves its guest to the VM that takes it.',
        'x-coppice-writer': ['admission', 'placement', 'drain'],
      }),
    ),
    fromPool: Type.Optional(fromPool),
    resolved: Type.Optional(resolved),
  },
  {
    description: 'What the VM should be.',
    'x-kubernetes-validations': [
      {
        rule: '!has(self.reschedulable) || !self.reschedulable || !has(self.volumes) || size(self.volumes) == 0',
        message: 'a VM with volumes cannot be reschedulable: its volumes do not move',
      },
    ],
  },
);

const placement = Type.Object(
  {
    host: Type.Optional(Type.String({ description: 'The host that was chosen; absent while it waits for one.' })),
    why: Type.Optional(
      oneOf(['Claimed', 'PaidFor', 'Fullest'], {
        description:
          'Why that one: Claimed, a warm guest of a pool was there; PaidFor, its tenant leases it, which comes before all others; Fullest, it has the least free memory of those that fit.',
      }),
    ),
    pool: Type.Optional(Type.String({ description: 'The pool whose guest it took; NAMESPACE/NAME of a shared one.' })),
    fitting: Type.Integer({ description: 'How many of the hosts that were looked at fit.' }),
    turnedDown: Type.Optional(
      Type.Array(
        Type.Object({
          reason: Type.String({ description: 'What turned hosts down.' }),
          hosts: Type.Integer({ description: 'How many.' }),
        }),
        {
          description: 'How many hosts were turned down for what, the most first.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['reason'],
        },
      ),
    ),
  },
  {
    description:
      'The last decision of placement, as it was made: coppice explain-placement tells what it would be now.',
    'x-coppice-writer': 'placement',
  },
);

const status = Type.Object(
  {
    phase: Type.Optional(
      oneOf(
        [
          'Pending',
          'Creating',
          'Running',
          'Stopping',
          'Stopped',
          'Pausing',
          'Paused',
          'Resuming',
          'Interrupted',
          'Destroying',
          'Failed',
        ],
        { description: 'Where it is in its life, in one word.' },
      ),
    ),
    host: Type.Optional(Type.String({ description: 'The host its guest is on.' })),
    hostUID: Type.Optional(Type.String({ description: 'Its uid: a host made again under that name is not it.' })),
    guest: Type.Optional(
      Type.Object(
        {
          id: Type.String({ description: 'The guest.' }),
          power: oneOf(['Off', 'Starting', 'Running', 'Paused', 'Stopping', 'Gone'], {
            description: 'What its driver sees. Gone means nothing of it is left.',
          }),
          epoch: Type.Integer({ format: 'int64', description: 'The binding it was made for.' }),
        },
        { description: 'The guest as its host sees it.' },
      ),
    ),
    addresses: Type.Optional(Type.Array(Type.String(), { description: 'Network addresses the guest told.' })),
    startedFrom: Type.Optional(
      oneOf(['cold', 'pool'], { description: 'How it came up last: pool, its guest was warm already.' }),
    ),
    startedAt: Type.Optional(Type.String({ format: 'date-time', description: 'When it came up last.' })),
    agent: Type.Optional(
      oneOf(['Ready', 'Waiting', 'None'], {
        description: 'Whether the agent inside answers; None when the image has none.',
      }),
    ),
    placement: Type.Optional(placement),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'What the VM is.' },
);

/** A virtual machine of a tenant. */
export const VM = defineCoppiceKind({
  kind: 'VM',
  plural: 'vms',
  description:
    'A virtual machine. It is placed on a host that has room, started there, and kept as its spec says until it is deleted.',
  shortNames: ['vm'],
  categories: ['all'],
  namespaced: true,
  spec,
  status,
  joint: { binding: [['spec', 'hostName'], ['spec', 'epoch'], ['spec', 'guestID'], ['status']] },
  streams: [
    { name: 'exec', description: 'Runs a command in the guest.' },
    { name: 'logs', description: 'The console of the guest.' },
  ],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Host', type: 'string', jsonPath: '.status.host' },
    { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    { name: 'Pool', type: 'string', jsonPath: '.metadata.labels.coppice\\.dev/pool' },
    { name: 'VCPUs', type: 'integer', jsonPath: '.spec.resolved.vcpus', priority: 1 },
    { name: 'Memory', type: 'string', jsonPath: '.spec.resolved.memory', priority: 1 },
    { name: 'Started From', type: 'string', jsonPath: '.status.startedFrom', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', priority: 1 },
  ],
  selectableFields: ['spec.hostName', 'status.phase'],
  nameRule: 'label',
  rules: {
    admit: admitVM,
    guards: [
      livingTenant,
      enabledTenant,
      knownSize,
      immutable('spec.image', 'spec.size', 'spec.class', 'spec.volumes'),
      vmVolumes,
      vmQuota,
      imageUse,
      ownGuest,
      memberStays,
      standIn,
      hostRoom,
    ],
    companions: vmCompanions,
  },
});
export type VM = ObjectOf<typeof spec, typeof status>;
