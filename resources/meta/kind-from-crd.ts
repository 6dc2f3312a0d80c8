import { type Column, defineKind, type Kind, type ScaleMapping } from './define-kind.ts';
import type { Schema } from './schema.ts';

/** The part of a CustomResourceDefinition (apiextensions.k8s.io/v1) that makes a kind. */
export interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly plural: string;
      readonly kind: string;
      readonly singular?: string;
      readonly listKind?: string;
      readonly shortNames?: readonly string[];
      readonly categories?: readonly string[];
    };
    readonly versions: readonly CustomResourceVersion[];
  };
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly schema?: { readonly openAPIV3Schema?: Schema };
  readonly subresources?: { readonly status?: object; readonly scale?: ScaleMapping };
  readonly additionalPrinterColumns?: readonly Column[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

/** The column every CRD without columns of its own has, after the name. */
const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/**
 * The kind that the first version of a CRD describes. Its columns are exactly those of the table after Name: what the
 * CRD lists, or Age alone.
 */
export function kindFromCRD(crd: CustomResourceDefinition): Kind {
  const { group, scope, names, versions } = crd.spec;
  const [version] = versions;
  if (version === undefined) throw new Error(`the CustomResourceDefinition of ${names.plural}.${group} has no version`);
  const scale = version.subresources?.scale;
  return defineKind({
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    ...(given(names.singular) ? { singular: names.singular } : {}),
    ...(given(names.listKind) ? { listKind: names.listKind } : {}),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    schema: bodySchema(
      version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    ),
    status: version.subresources?.status !== undefined,
    ...(scale === undefined ? {} : { scale }),
    columns: version.additionalPrinterColumns ?? [AGE],
    selectableFields: (version.selectableFields ?? []).map((field) => field.jsonPath.replace(/^\./, '')),
    origin: 'user',
  });
}

const given = (text: string | undefined): text is string => text !== undefined && text !== '';

/** The schema without apiVersion, kind and metadata, which every object has alike. */
function bodySchema(schema: Schema): Schema {
  const { apiVersion: _, kind: __, metadata: ___, ...properties } = schema.properties ?? {};
  const required = schema.required?.filter((name) => !TYPE_AND_META.has(name));
  const { required: ____, properties: _____, ...rest } = schema;
  return {
    ...rest,
    type: 'object',
    ...(schema.properties === undefined ? {} : { properties }),
    ...(required === undefined || required.length === 0 ? {} : { required }),
  };
}

const TYPE_AND_META: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
