import { inForce } from '../guards/in-force.ts';
import { onlyDefault } from '../guards/only-default.ts';
import { defineCoppiceKind, type ObjectOf } from '../meta/define-kind.ts';
import { conditions, quantity } from '../meta/schema.ts';
import { Type } from '../meta/type.ts';

const price = (description: string) =>
  Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$', default: '0', description });

const spec = Type.Object(
  {
    currency: Type.String({ pattern: '^[A-Z]{3}$', default: 'USD', description: 'Three letters, as in ISO 4217.' }),
    macPerHour: price('An hour of a leased host that meets no class.'),
    vmPerHour: price('An hour of a running VM on a host that nobody leases.'),
    vcpuPerHour: price('An hour of each of its vCPUs.'),
    memoryGiBPerHour: price('An hour of each GiB of its memory.'),
    macosVMPerHour: price('An hour of a macOS guest there, besides.'),
    volumeGiBPerHour: price('An hour of each GiB of a volume, wherever it lies.'),
    macClasses: Type.Optional(
      Type.Array(
        Type.Object({
          name: Type.String({ minLength: 1, maxLength: 63, description: 'What people call it, such as Mac Studio.' }),
          minVCPUs: Type.Integer({ minimum: 0, default: 0, description: 'A host of this class has at least these.' }),
          minMemory: quantity({ default: '0', description: 'A host of this class has at least this much.' }),
          perHour: price('An hour of a leased host of this class.'),
        }),
        {
          maxItems: 100,
          description: 'Prices by size: a host has that of the largest class it meets.',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      ),
    ),
  },
  { description: 'What things cost, in units of the currency, to the millionth. An absent price is nothing.' },
);

const status = Type.Object(
  {
    observedGeneration: Type.Optional(
      Type.Integer({ format: 'int64', description: 'The generation this status is about.' }),
    ),
    conditions: conditions(),
  },
  { description: 'Whether the prices are in force.' },
);

/** The one list of prices; always named `default`. */
export const PriceList = defineCoppiceKind({
  kind: 'PriceList',
  plural: 'pricelists',
  description:
    'What leases, VMs and volumes cost. There is one, named default; a lease keeps the price it was granted at.',
  shortNames: ['prices'],
  namespaced: false,
  spec,
  status,
  columns: [
    { name: 'Currency', type: 'string', jsonPath: '.spec.currency' },
    { name: 'Mac per Hour', type: 'string', jsonPath: '.spec.macPerHour' },
  ],
  rules: { admit: inForce, guards: [onlyDefault('PriceList')] },
});
export type PriceList = ObjectOf<typeof spec, typeof status>;
