import { immutableCauses, keyCauses, MAX_DATA_BYTES } from '../guards/keyed-data.ts';
import type { Cause } from '../meta/api-error.ts';
import { base64Length } from '../meta/base64.ts';
import { defineKind } from '../meta/define-kind.ts';
import { invalidField, tooManyBytes } from '../meta/field-causes.ts';
import type { KubeObject } from '../meta/object.ts';

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
  /** Base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

/** The core ConfigMap (k8s.io/api/core/v1). */
export const ConfigMap = defineKind<ConfigMap>({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  shortNames: ['cm'],
  namespaced: true,
  generations: false,
  origin: 'core',
  struct: true,
  schema: {
    type: 'object',
    description: 'Configuration for programs to read.',
    properties: {
      data: {
        type: 'object',
        description: 'Values that are text, by key.',
        additionalProperties: { type: 'string' },
      },
      binaryData: {
        type: 'object',
        description: 'Values that are bytes, by key. A key of data may not be here too.',
        additionalProperties: { type: 'string', format: 'byte' },
      },
      immutable: {
        type: 'boolean',
        nullable: true,
        description: 'Whether the data stays as it is for good. Cannot be taken back.',
      },
    },
  },
  columns: [
    {
      name: 'Data',
      type: 'string',
      description: 'How many values it holds in data and binaryData.',
      jsonPath: '',
      value: dataCount,
    },
  ],
  rules: { causes },
});

function dataCount({ data, binaryData }: KubeObject): number {
  return Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length;
}

const encoder = new TextEncoder();

function causes(object: ConfigMap, previous: ConfigMap | undefined): Cause[] {
  const { data = {}, binaryData = {} } = object;
  const twice = Object.keys(data)
    .filter((key) => Object.hasOwn(binaryData, key))
    .map((key) => invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData'));
  const texts = Object.values(data).reduce((sum, text) => sum + encoder.encode(text).length, 0);
  const bytes = Object.values(binaryData).reduce((sum, text) => sum + base64Length(text), texts);
  return [
    ...immutableCauses(object, previous, ['data', 'binaryData']),
    ...keyCauses('data', data),
    ...twice,
    ...keyCauses('binaryData', binaryData),
    // The real server names no field here, and this is how that reads.
    ...(bytes > MAX_DATA_BYTES ? [tooManyBytes('[]', MAX_DATA_BYTES)] : []),
  ];
}
