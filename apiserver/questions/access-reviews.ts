import { ApiError, type Cause } from '../../resources/meta/api-error.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { invalidValue, requiredValue } from '../admission/causes.ts';
import { goQuote } from '../admission/go-format.ts';
import { type Identity, serviceAccountGroups, serviceAccountOf } from '../auth/identity.ts';
import type { Answerer, Question } from '../verbs/answer.ts';
import {
  mayAccess,
  mayGetPath,
  type NonResourceAttributes,
  type ResourceAttributes,
  type SelectorAttributes,
} from './access.ts';

interface Spec {
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** May I? */
export const selfSubjectAccessReview: Answerer = (question, context) => {
  const spec = specOf(question);
  refuse([...attributeCauses(spec), ...metadataCauses(question.metadata)]);
  return reviewed(question, spec, context.identity, context.parts);
};

/** May they? */
export const subjectAccessReview: Answerer = (question, { parts }) => {
  const spec = specOf(question);
  refuse([...attributeCauses(spec), ...subjectCauses(spec), ...metadataCauses(question.metadata)]);
  return reviewed(question, spec, subjectOf(spec), parts);
};

/** May they, in this namespace? */
export const localSubjectAccessReview: Answerer = (asked, { parts, target }) => {
  const { namespace = '' } = target;
  const question = { ...asked, metadata: { ...asked.metadata, namespace } };
  const spec = specOf(question);
  const { namespace: _, ...rest } = question.metadata;
  refuse([
    ...attributeCauses(spec),
    ...subjectCauses(spec),
    ...metadataCauses(rest, 'must be empty except for namespace'),
    ...localCauses(spec, namespace),
  ]);
  return reviewed(question, spec, subjectOf(spec), parts);
};

const specOf = ({ spec }: Question): Spec => (isObject(spec) ? (spec as Spec) : {});

function reviewed(question: Question, spec: Spec, identity: Identity, parts: Parameters<typeof mayAccess>[2]) {
  const { resourceAttributes, nonResourceAttributes = {} } = spec;
  const allowed =
    resourceAttributes === undefined
      ? mayGetPath(identity, nonResourceAttributes)
      : mayAccess(identity, resourceAttributes, parts);
  return { ...question, spec, status: { allowed } };
}

/** Who is asked about. A service account is in its groups, said or not. */
function subjectOf({ user = '', groups = [], uid, extra }: Spec): Identity {
  const account = serviceAccountOf(user);
  return {
    user,
    groups: groups.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : groups,
    ...(uid === undefined ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

function attributeCauses({ resourceAttributes, nonResourceAttributes }: Spec): readonly Cause[] {
  if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [{ ...invalidValue('spec.resourceAttributes', '', why), message: `Invalid value: "null": ${why}` }];
  }
  if (resourceAttributes === undefined) return [];
  const { fieldSelector, labelSelector } = resourceAttributes;
  return [
    ...(nonResourceAttributes === undefined ? [] : [notBoth(nonResourceAttributes)]),
    ...selectorCauses('spec.resourceAttributes.fieldSelector', fieldSelector),
    ...selectorCauses('spec.resourceAttributes.labelSelector', labelSelector),
  ];
}

function notBoth({ path = '', verb = '' }: NonResourceAttributes): Cause {
  const shown = `authorization.NonResourceAttributes{Path:${goQuote(path)}, Verb:${goQuote(verb)}}`;
  const message = `Invalid value: ${shown}: cannot be specified in combination with resourceAttributes`;
  return { reason: 'FieldValueInvalid', field: 'spec.nonResourceAttributes', message };
}

function selectorCauses(field: string, selector: SelectorAttributes | undefined): readonly Cause[] {
  if (selector === undefined) return [];
  const { rawSelector = '', requirements = [] } = selector;
  if (rawSelector !== '' && requirements.length > 0) {
    return [invalidValue(`${field}.rawSelector`, rawSelector, 'may not be specified at the same time as requirements')];
  }
  if (rawSelector !== '' || requirements.length > 0) return [];
  return [
    requiredValue(`${field}.requirements`, `when ${field} is specified, requirements or rawSelector is required`),
  ];
}

function subjectCauses({ user = '', groups = [] }: Spec): readonly Cause[] {
  if (user !== '' || groups.length > 0) return [];
  return [invalidValue('spec.user', user, 'at least one of user or group must be specified')];
}

function localCauses({ resourceAttributes, nonResourceAttributes }: Spec, namespace: string): readonly Cause[] {
  const asked = resourceAttributes?.namespace ?? '';
  return [
    ...(resourceAttributes === undefined || asked === namespace
      ? []
      : [invalidValue('spec.resourceAttributes.namespace', asked, 'must match metadata.namespace')]),
    ...(nonResourceAttributes === undefined
      ? []
      : [invalidValue('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request')]),
  ];
}

function metadataCauses({ managedFields: _, ...rest }: JsonObject, why = 'must be empty'): readonly Cause[] {
  const said = Object.entries(rest).filter(([, value]) => value !== '' && value !== null);
  return said.length === 0 ? [] : [invalidValue('metadata', Object.fromEntries(said), why)];
}

/** Upstream names no kind when it refuses these. */
function refuse(causes: readonly Cause[]): void {
  if (causes.length === 0) return;
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  throw new ApiError('Invalid', `.authorization.k8s.io "" is invalid: ${text}`, {
    details: { group: 'authorization.k8s.io', causes },
  });
}
