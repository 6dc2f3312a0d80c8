import type { Condition } from '../meta/condition.ts';
import { type Column, defineKind, type ScaleMapping } from '../meta/define-kind.ts';
import { isObject, type JsonObject, type KubeObject, valueAt, withValueAt } from '../meta/object.ts';
import { conditions, type Schema } from '../meta/schema.ts';
import { pruneSchema } from '../meta/schema-fields.ts';

/** Keeps a definition until its objects are gone (k8s.io/apiextensions-apiserver): set when it is deleted, taken off by the garbage duty. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

/** The names of a kind: as its definition asks for them, and as they were accepted. */
export interface DefinitionNames {
  readonly plural: string;
  readonly kind: string;
  readonly singular?: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: object; readonly scale?: ScaleMapping };
  readonly additionalPrinterColumns?: readonly Column[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export interface CustomResourceDefinition extends KubeObject {
  spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: DefinitionNames;
    readonly versions: readonly DefinitionVersion[];
    readonly conversion?: { readonly strategy: string; readonly webhook?: object };
    readonly preserveUnknownFields?: boolean;
  };
  status?: {
    readonly acceptedNames?: DefinitionNames;
    readonly storedVersions?: readonly string[];
    readonly conditions?: readonly Condition[];
  };
}

const text = (description: string): Schema => ({ type: 'string', description });
const texts = (description: string): Schema => ({
  type: 'array',
  description,
  items: { type: 'string' },
  'x-kubernetes-list-type': 'atomic',
});

const NAMES: Readonly<Record<string, Schema>> = {
  plural: text('What the objects are called in paths, in lower case: widgets.'),
  singular: text('What one of them is called on the command line; the kind in lower case when absent.'),
  kind: text('The kind of the objects, in CamelCase: Widget.'),
  listKind: text('The kind of their list; the kind followed by List when absent.'),
  shortNames: texts('Short names for the command line.'),
  categories: texts('Groups of resources that kubectl get takes by one name, such as all.'),
};
const names = (description: string): Schema => ({
  type: 'object',
  description,
  required: ['plural', 'kind'],
  properties: NAMES,
});

const COLUMN: Schema = {
  type: 'object',
  required: ['name', 'type', 'jsonPath'],
  properties: {
    name: text('The heading.'),
    type: text('string, integer, number, boolean or date.'),
    format: text('A hint on how the value reads: int32, int64, float, double, byte, date, date-time, password.'),
    description: text('What the column says.'),
    priority: { type: 'integer', format: 'int32', description: '0 shows always, above it with -o wide.' },
    jsonPath: text('Where the value stands in each object.'),
  },
};

const SUBRESOURCES: Schema = {
  type: 'object',
  description: 'Parts of the objects that are written on their own.',
  properties: {
    status: {
      type: 'object',
      description: 'Makes status a part of its own, which the object itself does not write.',
    },
    scale: {
      type: 'object',
      description: 'Makes the objects scalable by kubectl scale.',
      required: ['specReplicasPath', 'statusReplicasPath'],
      properties: {
        specReplicasPath: text('The wished number of replicas, under .spec.'),
        statusReplicasPath: text('The number of replicas there are, under .status.'),
        labelSelectorPath: text('The selector of the replicas as text, under .status or .spec.'),
      },
    },
  },
};

const VERSION: Schema = {
  type: 'object',
  required: ['name', 'served', 'storage'],
  properties: {
    name: text('The version, such as v1 or v1beta1.'),
    served: { type: 'boolean', description: 'Whether clients may use it.' },
    storage: { type: 'boolean', description: 'Whether objects are kept in it; exactly one version is.' },
    deprecated: { type: 'boolean', description: 'Whether clients should move on.' },
    deprecationWarning: text('What to tell them.'),
    schema: {
      type: 'object',
      description: 'What the objects must look like.',
      properties: {
        openAPIV3Schema: {
          type: 'object',
          description: 'A structural OpenAPI v3 schema: types, bounds, defaults, lists, and rules in CEL.',
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
    subresources: SUBRESOURCES,
    additionalPrinterColumns: {
      type: 'array',
      description: 'The columns kubectl get shows after the name; the age when there are none.',
      items: COLUMN,
      'x-kubernetes-list-type': 'atomic',
    },
    selectableFields: {
      type: 'array',
      description: 'Fields that lists and watches can select by.',
      items: {
        type: 'object',
        required: ['jsonPath'],
        properties: { jsonPath: text('The field, such as .spec.color.') },
      },
      'x-kubernetes-list-type': 'atomic',
    },
  },
};

const SPEC: Schema = {
  type: 'object',
  description: 'The kind that is wished for.',
  required: ['group', 'names', 'scope', 'versions'],
  properties: {
    group: text('The API group, a domain name. The definition is named PLURAL.GROUP.'),
    names: names('The names it asks for.'),
    scope: {
      type: 'string',
      enum: ['Cluster', 'Namespaced'],
      description: 'Whether the objects live in namespaces.',
    },
    versions: {
      type: 'array',
      description: 'The versions of the kind.',
      minItems: 1,
      items: VERSION,
      'x-kubernetes-list-type': 'atomic',
    },
    conversion: {
      type: 'object',
      description: 'How objects go from one version to another.',
      default: { strategy: 'None' },
      properties: {
        strategy: text('None: only apiVersion changes, and what the other version does not know is dropped.'),
        webhook: {
          type: 'object',
          description: 'Webhooks are not called by this server.',
          'x-kubernetes-preserve-unknown-fields': true,
        },
      },
    },
    preserveUnknownFields: { type: 'boolean', description: 'Must not be true: schemas say what is kept.' },
  },
};

const STATUS: Schema = {
  type: 'object',
  description: 'What came of it.',
  properties: {
    acceptedNames: names('The names it is served by.'),
    storedVersions: texts('Every version that objects may be stored in.'),
    conditions: conditionsSchema(),
  },
};

/** As ours, but clients of Kubernetes may leave out what is no more than a remark. */
function conditionsSchema(): Schema {
  const { items, ...list } = JSON.parse(JSON.stringify(conditions())) as Schema & { items: Schema };
  return { ...list, items: { ...items, required: ['type', 'status'] } };
}

/** The CustomResourceDefinition (k8s.io/apiextensions-apiserver/v1): a kind that an operator adds. Its rules are the server's. */
export const CustomResourceDefinition = defineKind<CustomResourceDefinition>({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  status: true,
  origin: 'core',
  schema: {
    type: 'object',
    description: 'A kind of resource that this server serves beside its own.',
    required: ['spec'],
    properties: { spec: SPEC, status: STATUS },
  },
  columns: [{ name: 'Created At', type: 'string', format: 'date-time', jsonPath: '.metadata.creationTimestamp' }],
  ageColumn: false,
  rules: { prune: pruneDefinition },
});

/** Drops what no schema has from the schemas of a definition; a schema within a schema within a schema is beyond the kind's own. */
function pruneDefinition(object: JsonObject): { object: JsonObject; unknown: readonly string[] } {
  const versions = valueAt(object, ['spec', 'versions']);
  if (!Array.isArray(versions)) return { object, unknown: [] };
  const unknown: string[] = [];
  const pruned = versions.map((version: unknown, i) => {
    const schema = valueAt(version, ['schema', 'openAPIV3Schema']);
    if (!isObject(version) || schema === undefined) return version;
    const place = `spec.versions[${i}].schema.openAPIV3Schema`;
    return withValueAt(version, ['schema', 'openAPIV3Schema'], pruneSchema(schema, place, unknown));
  });
  return { object: withValueAt(object, ['spec', 'versions'], pruned), unknown: unknown.sort() };
}
