import type {
  CustomResourceDefinition,
  DefinitionNames,
  DefinitionVersion,
} from '../kinds/custom-resource-definition.ts';
import { compareVersions } from './compare-versions.ts';
import { type Column, defineKind, type Kind } from './define-kind.ts';
import type { Schema } from './schema.ts';

/** What of a CustomResourceDefinition makes a kind. */
export type DefinitionSource = Pick<CustomResourceDefinition, 'spec'>;

/** The column every CRD without columns of its own has, after the name. */
const AGE: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/**
 * The kind that one version of a CRD describes, by the names it was given; the first version and the names it asks for unless said
 * otherwise. Its columns are exactly those of the table after Name: what the CRD lists, or Age alone.
 */
export function kindFromCRD(
  crd: DefinitionSource,
  version: DefinitionVersion | undefined = crd.spec.versions[0],
  names: DefinitionNames = crd.spec.names,
): Kind {
  const { group, scope, versions } = crd.spec;
  if (version === undefined) throw new Error(`the CustomResourceDefinition of ${names.plural}.${group} has no version`);
  const scale = version.subresources?.scale;
  const kept = versions.find(({ storage }) => storage === true);
  const schema = schemaOf(version);
  const metadata = schema.properties?.metadata;
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
    schema: bodySchema(schema),
    ...(metadata?.properties === undefined ? {} : { metadata: { type: 'object', properties: { metadata } } }),
    ...(kept === undefined || kept.name === version.name
      ? {}
      : { storage: { version: kept.name, schema: bodySchema(schemaOf(kept)) } }),
    ...(version.deprecated === true ? { deprecation: deprecationOf(crd, version, names) } : {}),
    status: version.subresources?.status !== undefined,
    ...(scale === undefined ? {} : { scale }),
    columns: (version.additionalPrinterColumns ?? []).length === 0 ? [AGE] : (version.additionalPrinterColumns ?? []),
    selectableFields: (version.selectableFields ?? []).map((field) => field.jsonPath.replace(/^\./, '')),
    origin: 'user',
  });
}

/** What is said of a deprecated version that does not say it itself: the best version to go to, if there is a better one. */
function deprecationOf({ spec }: DefinitionSource, version: DefinitionVersion, { kind }: DefinitionNames): string {
  if (version.deprecationWarning !== undefined) return version.deprecationWarning;
  const [best] = spec.versions
    .filter((one) => one.served && one.deprecated !== true && compareVersions(one.name, version.name) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const told = `${spec.group}/${version.name} ${kind} is deprecated`;
  return best === undefined ? told : `${told}; use ${spec.group}/${best} ${kind}`;
}

const given = (text: string | undefined): text is string => text !== undefined && text !== '';

const schemaOf = (version: DefinitionVersion): Schema =>
  version.schema?.openAPIV3Schema ?? { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

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
