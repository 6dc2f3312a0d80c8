import type { CustomResourceDefinition } from '../../resources/kinds/custom-resource-definition.ts';
import type { Cause } from '../../resources/meta/api-error.ts';
import { labelProblems, subdomainProblems } from '../../resources/meta/names.ts';
import { jsonEqual } from '../../resources/meta/object.ts';
import { duplicateValue, forbiddenField, invalidValue, unsupportedValue } from '../admission/causes.ts';
import { isEstablished } from './definition-kinds.ts';
import { versionCauses } from './version-causes.ts';
import { weightCauses } from './weight-causes.ts';

/** A DNS label that begins with a letter. */
const WORD = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const WORD_FORM = "must be at most 63 of a-z, 0-9 and '-', begin with a letter and not end in '-'";

/** What is wrong with a definition that its schema finds right. `previous` is there on updates. */
export function definitionCauses(
  definition: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): readonly Cause[] {
  const unchanged = previous !== undefined && jsonEqual(previous.spec, definition.spec);
  return [...(unchanged ? [] : specCauses(definition, previous)), ...storedCauses(definition)];
}

function specCauses(
  definition: CustomResourceDefinition,
  previous: CustomResourceDefinition | undefined,
): readonly Cause[] {
  const { spec } = definition;
  const weight = weightCauses(spec);
  if (weight.length > 0) return weight;
  return [
    ...groupCauses(definition),
    ...nameCauses(spec.names),
    ...immutableCauses(definition, previous),
    ...conversionCauses(spec),
    ...versionsCauses(spec),
    ...spec.versions.flatMap((version, i) => versionCauses(definition, version, `spec.versions[${i}]`)),
  ];
}

function groupCauses({ metadata, spec }: CustomResourceDefinition): Cause[] {
  const causes = subdomainProblems(spec.group).map((problem) => invalidValue('spec.group', spec.group, problem));
  if (causes.length === 0 && !spec.group.includes('.')) {
    causes.push(invalidValue('spec.group', spec.group, 'must be a domain name with a dot in it'));
  }
  const expected = `${spec.names.plural}.${spec.group}`;
  if (metadata.name !== expected) {
    causes.push(invalidValue('metadata.name', metadata.name, `must be spec.names.plural+"."+spec.group: ${expected}`));
  }
  return causes;
}

function nameCauses(names: CustomResourceDefinition['spec']['names']): Cause[] {
  const word = (field: string, text: string | undefined) =>
    text === undefined || text === '' || isWord(text) ? [] : [invalidValue(`spec.names.${field}`, text, WORD_FORM)];
  const camel = (field: string, text: string | undefined) =>
    text === undefined || isWord(text.toLowerCase())
      ? []
      : [invalidValue(`spec.names.${field}`, text, `in lower case it ${WORD_FORM}`)];
  const causes: Cause[] = [
    ...(isWord(names.plural) ? [] : [invalidValue('spec.names.plural', names.plural, WORD_FORM)]),
    ...word('singular', names.singular),
    ...camel('kind', names.kind),
    ...camel('listKind', names.listKind),
    ...(names.shortNames ?? []).flatMap((text, i) =>
      isWord(text) ? [] : [invalidValue(`spec.names.shortNames[${i}]`, text, WORD_FORM)],
    ),
    ...(names.categories ?? []).flatMap((text, i) =>
      isWord(text) ? [] : [invalidValue(`spec.names.categories[${i}]`, text, WORD_FORM)],
    ),
  ];
  if (names.kind === names.listKind) {
    causes.push(invalidValue('spec.names.listKind', names.listKind, 'must not be the same as kind'));
  }
  return causes;
}

const isWord = (text: string) => WORD.test(text) && labelProblems(text).length === 0;

/** Once a kind is served, who it is stays. */
function immutableCauses({ spec }: CustomResourceDefinition, previous: CustomResourceDefinition | undefined): Cause[] {
  if (previous === undefined) return [];
  const fixed = (field: string, now: unknown, before: unknown) =>
    now === before ? [] : [invalidValue(field, now, 'field is immutable')];
  return [
    ...fixed('spec.group', spec.group, previous.spec.group),
    ...fixed('spec.names.plural', spec.names.plural, previous.spec.names.plural),
    ...(isEstablished(previous)
      ? [
          ...fixed('spec.scope', spec.scope, previous.spec.scope),
          ...fixed('spec.names.kind', spec.names.kind, previous.spec.names.kind),
        ]
      : []),
  ];
}

function conversionCauses({ conversion, preserveUnknownFields }: CustomResourceDefinition['spec']): Cause[] {
  const causes: Cause[] = [];
  if (preserveUnknownFields === true) {
    const why = 'must be false; x-kubernetes-preserve-unknown-fields in the schema says what is kept';
    causes.push(invalidValue('spec.preserveUnknownFields', true, why));
  }
  if (conversion !== undefined && conversion.strategy !== 'None') {
    causes.push(unsupportedValue('spec.conversion.strategy', conversion.strategy, ['None']));
  }
  if (conversion?.webhook !== undefined) {
    causes.push(forbiddenField('spec.conversion.webhook', 'webhooks are not called by this server'));
  }
  return causes;
}

function versionsCauses({ versions }: CustomResourceDefinition['spec']): Cause[] {
  const names = versions.map((version) => version.name);
  const causes = versions.flatMap(({ name }, i) => {
    const place = `spec.versions[${i}].name`;
    if (names.indexOf(name) < i) return [duplicateValue(place, name)];
    return isWord(name) ? [] : [invalidValue(place, name, WORD_FORM)];
  });
  const stored = versions.filter((version) => version.storage).map((version) => version.name);
  if (stored.length !== 1) {
    causes.push(invalidValue('spec.versions', stored, 'must have exactly one version that is the storage version'));
  }
  return causes;
}

/** A version may go only once nothing is stored in it. */
function storedCauses({ spec, status }: CustomResourceDefinition): Cause[] {
  return (status?.storedVersions ?? []).flatMap((name, i) =>
    spec.versions.some((version) => version.name === name)
      ? []
      : [invalidValue(`status.storedVersions[${i}]`, name, 'must appear in spec.versions')],
  );
}
