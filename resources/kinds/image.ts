import { immutable } from '../guards/immutable.ts';
import { imageInUse } from '../guards/in-use.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, oneOf, quantity } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';

const spec = Type.Object(
  {
    displayName: Type.Optional(Type.String({ maxLength: 200, description: 'What people call it.' })),
    guestOS: oneOf(['macos', 'linux'], {
      description: 'The operating system inside. Decides where it may run, and cannot be changed.',
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'field is immutable' }],
    }),
    source: Type.Object(
      {
        path: Type.String({
          minLength: 1,
          maxLength: 1000,
          pattern: '^[^\\x00]+$',
          description: 'The folder of the image on each host: relative to the images folder of its home, or absolute.',
        }),
      },
      { description: 'Where hosts find it.' },
    ),
    defaults: Type.Optional(
      Type.Object(
        {
          vcpus: Type.Optional(
            Type.Integer({ minimum: 1, maximum: 256, description: 'vCPUs of a VM that sets no size.' }),
          ),
          memory: Type.Optional(quantity({ description: 'Memory of a VM that sets no size.' })),
          disk: Type.Optional(quantity({ description: 'Disk of a VM that sets no size.' })),
        },
        { description: 'The size of VMs that set none.' },
      ),
    ),
    sshUser: Type.Optional(Type.String({ maxLength: 64, description: 'Whom to log in as.' })),
  },
  { description: 'What the image is and where it lies.' },
);

const status = Type.Object(
  {
    digest: Type.Optional(Type.String({ description: 'What its files hash to, as the hosts found it.' })),
    size: Type.Optional(quantity({ description: 'Its size on disk.' })),
    holders: Type.Optional(
      Type.Array(Type.String(), { description: 'The hosts that have it.', 'x-kubernetes-list-type': 'set' }),
    ),
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'What the hosts found.' },
);

/** Something VMs start from. */
export const Image = defineCoppiceKind({
  kind: 'Image',
  plural: 'images',
  description: 'A disk or kernel that VMs start from, in the catalog of the fleet.',
  shortNames: ['img'],
  namespaced: false,
  spec,
  status,
  columns: [
    { name: 'OS', type: 'string', jsonPath: '.spec.guestOS' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Size', type: 'string', jsonPath: '.status.size' },
    { name: 'Digest', type: 'string', jsonPath: '.status.digest', priority: 1 },
    { name: 'Display Name', type: 'string', jsonPath: '.spec.displayName', priority: 1 },
  ],
  rules: { guards: [immutable('spec.guestOS'), imageInUse] },
});
export type Image = ObjectOf<typeof spec, typeof status>;
