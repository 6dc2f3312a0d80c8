import { immutableCauses, keyCauses, MAX_DATA_BYTES } from '../guards/keyed-data.ts';
import { secretTypeCauses } from '../guards/secret-types.ts';
import type { Cause } from '../meta/api-error.ts';
import { base64Length, encodeBase64 } from '../meta/base64.ts';
import { defineKind } from '../meta/define-kind.ts';
import { invalidField, tooManyBytes } from '../meta/field-causes.ts';
import type { KubeObject } from '../meta/object.ts';

export interface Secret extends KubeObject {
  /** Base64. */
  data?: Record<string, string>;
  /** Of a write only. */
  stringData?: Record<string, string>;
  type?: string;
  immutable?: boolean;
}

/** The core Secret (k8s.io/api/core/v1). Kept sealed. */
export const Secret = defineKind<Secret>({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  generations: false,
  origin: 'core',
  struct: true,
  sealed: true,
  schema: {
    type: 'object',
    description: 'Values that not everybody may read, such as passwords and keys.',
    properties: {
      data: {
        type: 'object',
        description: 'The values, in base64, by key.',
        additionalProperties: { type: 'string', format: 'byte' },
      },
      stringData: {
        type: 'object',
        description: 'Values as plain text: written into data, over what is there, and never given back.',
        additionalProperties: { type: 'string' },
      },
      type: { type: 'string', default: 'Opaque', description: 'What kind of values it holds. Cannot be changed.' },
      immutable: {
        type: 'boolean',
        nullable: true,
        description: 'Whether the data stays as it is for good. Cannot be taken back.',
      },
    },
  },
  columns: [
    { name: 'Type', type: 'string', description: 'What kind of values it is made to hold.', jsonPath: '.type' },
    {
      name: 'Data',
      type: 'string',
      description: 'How many values it holds, whatever they are.',
      jsonPath: '',
      value: dataCount,
    },
  ],
  selectableFields: ['type'],
  rules: { admit, causes },
});

function dataCount({ data }: KubeObject): number {
  return Object.keys(data ?? {}).length;
}

const encoder = new TextEncoder();

function admit({ stringData, ...secret }: Secret): Secret {
  const typed = secret.type === '' ? { ...secret, type: 'Opaque' } : secret;
  const written = Object.entries(stringData ?? {}).map(([key, text]) => [key, encodeBase64(encoder.encode(text))]);
  return written.length === 0 ? typed : { ...typed, data: { ...typed.data, ...Object.fromEntries(written) } };
}

function causes(object: Secret, previous: Secret | undefined): Cause[] {
  const { data = {} } = object;
  const bytes = Object.values(data).reduce((sum, text) => sum + base64Length(text), 0);
  return [
    ...(previous === undefined || previous.type === object.type
      ? []
      : [invalidField('type', object.type, 'field is immutable')]),
    ...immutableCauses(object, previous, ['data']),
    ...keyCauses('data', data),
    ...(bytes > MAX_DATA_BYTES ? [tooManyBytes('data', MAX_DATA_BYTES)] : []),
    ...secretTypeCauses(object),
  ];
}
