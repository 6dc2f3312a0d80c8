import type { Column, Kind } from './define-kind.ts';
import { type JsonObject, jsonEqual } from './object.ts';
import { printerColumns } from './printer-columns.ts';
import { mapSchemas, publishedSchema } from './published-schema.ts';
import type { Schema } from './schema.ts';

/** apiextensions.k8s.io/v1 CustomResourceDefinition, as a manifest holds it. */
interface CrdManifest {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly plural: string;
      readonly singular: string;
      readonly kind: string;
      readonly listKind: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly [CrdVersion];
  };
}

interface CrdVersion {
  readonly name: string;
  readonly served: true;
  readonly storage: true;
  readonly additionalPrinterColumns: readonly Column[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
  readonly subresources?: JsonObject;
  readonly schema: { readonly openAPIV3Schema: Schema };
}

/** The definition that makes a Kubernetes server serve one of our kinds. Streams are not part of it: only our own server has them. */
export function crdOf(kind: Kind): CrdManifest {
  const { shortNames, categories } = kind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        plural: kind.plural,
        singular: kind.singular,
        kind: kind.kind,
        listKind: kind.listKind,
        ...(shortNames.length === 0 ? {} : { shortNames }),
        ...(categories.length === 0 ? {} : { categories }),
      },
      versions: [versionOf(kind)],
    },
  };
}

function versionOf(kind: Kind): CrdVersion {
  const subresources = {
    ...(kind.status ? { status: {} } : {}),
    ...(kind.scale === undefined ? {} : { scale: kind.scale }),
  };
  return {
    name: kind.version,
    served: true,
    storage: true,
    additionalPrinterColumns: printerColumns(kind),
    ...(kind.selectableFields.length === 0
      ? {}
      : { selectableFields: kind.selectableFields.map((field) => ({ jsonPath: `.${field}` })) }),
    ...(Object.keys(subresources).length === 0 ? {} : { subresources }),
    schema: { openAPIV3Schema: honest(publishedSchema(kind.schema)) },
  };
}

/** A definition may not hold a default that its own schema refuses: `{}` where something is required. Such a field is required instead. */
function honest(schema: Schema): Schema {
  const { properties, required, items, additionalProperties, ...rest } = schema;
  const refused = Object.entries(properties ?? {}).filter(([, child]) => refusesOwnDefault(child));
  const needed = [...(required ?? []), ...refused.map(([name]) => name)];
  return {
    ...rest,
    ...(needed.length === 0 ? {} : { required: [...new Set(needed)] }),
    ...(properties === undefined
      ? {}
      : {
          properties: mapSchemas(properties, (child) => honest(refusesOwnDefault(child) ? undefaulted(child) : child)),
        }),
    ...(items === undefined ? {} : { items: honest(items) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? honest(additionalProperties) : additionalProperties,
        }),
  };
}

const refusesOwnDefault = (schema: Schema): boolean =>
  jsonEqual(schema.default, {}) && (schema.required ?? []).length > 0;

function undefaulted({ default: _, ...rest }: Schema): Schema {
  return rest;
}
