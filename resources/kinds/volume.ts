import { livingTenant } from '../guards/tenant-standing.ts';
import { admitVolume } from '../guards/volume-admission.ts';
import { volumeGrowth } from '../guards/volume-growth.ts';
import { volumeID, volumeLoss, volumeMoves, volumeName, volumeRecord, volumeRemoval } from '../guards/volume-guards.ts';
import { volumeHost } from '../guards/volume-host.ts';
import { volumeQuota } from '../guards/volume-quota.ts';
import { volumeSize } from '../guards/volume-size.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, instant, oneOf, quantity } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';

const WRITER = { 'x-coppice-writer': 'volume' } as const;

const spec = Type.Object(
  {
    size: quantity({
      description:
        'How large it is, from 1Gi to 2048Gi. It may grow while no VM has it, and never shrinks. Its file is of whole mebibytes.',
    }),
    hostName: Type.Optional(Type.String({ maxLength: 63, description: 'The host it lies on, for good.', ...WRITER })),
  },
  { description: 'What the volume should be.' },
);

const status = Type.Object(
  {
    phase: Type.Optional(
      oneOf(['Pending', 'Available', 'Attached', 'Stranded', 'Lost'], {
        description:
          'Where it is in its life. Pending: it has no host or no file yet; Available: a VM can have it; Attached: a VM has it; Stranded: its host is no longer leased by its tenant, and no VM can have it until it is again; Lost: its data is gone.',
        ...WRITER,
      }),
    ),
    id: Type.Optional(
      Type.String({
        description: 'Its serial in the guest: /dev/disk/by-id/virtio-ID. Given once.',
        pattern: '^vol-[0-9a-f]{12}$',
        ...WRITER,
      }),
    ),
    hostUID: Type.Optional(
      Type.String({ description: 'The uid of its host: another host of that name has it not.', ...WRITER }),
    ),
    size: Type.Optional(quantity({ description: 'How large the file on its host is.', 'x-coppice-writer': 'nodelet' })),
    attachedTo: Type.Optional(
      Type.String({ description: 'The VM whose guest has it, until nothing is left of that guest.', ...WRITER }),
    ),
    strandedAt: Type.Optional(instant({ description: 'Since when it is stranded.', ...WRITER })),
    lostAt: Type.Optional(instant({ description: 'When its data was given up.', ...WRITER })),
    lostBy: Type.Optional(Type.String({ description: 'What took it, and who asked for that.', ...WRITER })),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions({ Ready: ['volume'], FileReady: ['nodelet'] }),
  },
  { description: 'What the volume is.' },
);

/** A disk of a tenant that outlives the VMs that use it. */
export const Volume = defineCoppiceKind({
  kind: 'Volume',
  plural: 'volumes',
  description:
    'A disk that keeps its data when the VM that uses it is deleted. It lies on one host, and one VM at a time has it.',
  shortNames: ['vol'],
  categories: ['all'],
  namespaced: true,
  spec,
  status,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Size', type: 'string', jsonPath: '.spec.size' },
    { name: 'Host', type: 'string', jsonPath: '.spec.hostName' },
    { name: 'VM', type: 'string', jsonPath: '.status.attachedTo' },
    { name: 'ID', type: 'string', jsonPath: '.status.id', priority: 1 },
    { name: 'Why', type: 'string', jsonPath: '.status.conditions[?(@.status=="False")].reason' },
  ],
  selectableFields: ['spec.hostName', 'status.phase'],
  nameRule: 'label',
  rules: {
    admit: admitVolume,
    guards: [
      livingTenant,
      volumeName,
      volumeSize,
      volumeMoves,
      volumeGrowth,
      volumeQuota,
      volumeHost,
      volumeID,
      volumeLoss,
      volumeRecord,
      volumeRemoval,
    ],
  },
});
export type Volume = ObjectOf<typeof spec, typeof status>;
