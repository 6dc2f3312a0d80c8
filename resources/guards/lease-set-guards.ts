import type { LeaseSet } from '../kinds/lease-set.ts';
import type { Cause } from '../meta/api-error.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { invalidField, tooManyBytes } from '../meta/field-causes.ts';
import { labelValueProblems, qualifiedNameProblems } from '../meta/names.ts';
import { jsonEqual, valueAt } from '../meta/object.ts';
import { scheduleCauses } from '../meta/schedule.ts';
import { type Guard, NO_FENCES } from './guard.ts';
import { stampedTerms } from './lease-admission.ts';
import { durationProblem } from './lease-horizon.ts';
import { LEASE_SET_LABEL, SUFFIX_LENGTH } from './lease-set.ts';

/** What is left of a Lease's name for the set's. */
const LONGEST_NAME = 63 - 1 - SUFFIX_LENGTH;
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** What is wrong with a set that its schema finds right: what is not a Lease could be made of it never. */
export function leaseSetCauses({ metadata, spec }: LeaseSet, previous: LeaseSet | undefined): readonly Cause[] {
  const { name } = metadata;
  return [
    ...(previous !== undefined || name.length <= LONGEST_NAME
      ? []
      : [
          invalidField(
            'metadata.name',
            name,
            `must be no more than ${LONGEST_NAME} characters, for its Leases are named after it`,
          ),
        ]),
    ...scheduleCauses(spec.schedules, previous?.spec.schedules),
    ...(jsonEqual(spec.template, previous?.spec.template) ? [] : templateCauses(spec.template)),
  ];
}

function templateCauses({ metadata = {}, spec }: LeaseSet['spec']['template']): readonly Cause[] {
  const { labels = {}, annotations = {} } = metadata;
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  const tooLong = spec.duration === undefined ? undefined : durationProblem(spec.duration);
  return [
    ...Object.entries(labels).flatMap(([key, value]) => labelCauses(key, value)),
    ...Object.keys(annotations).flatMap((key) =>
      qualifiedNameProblems(key.toLowerCase()).map((problem) =>
        invalidField('spec.template.metadata.annotations', key, problem),
      ),
    ),
    ...(bytes > MAX_ANNOTATION_BYTES ? [tooManyBytes('spec.template.metadata.annotations', MAX_ANNOTATION_BYTES)] : []),
    ...(tooLong === undefined ? [] : [invalidField('spec.template.spec.duration', spec.duration, tooLong)]),
  ];
}

function labelCauses(key: string, value: string): readonly Cause[] {
  const field = 'spec.template.metadata.labels';
  return [
    ...qualifiedNameProblems(key).map((problem) => invalidField(field, key, problem)),
    ...labelValueProblems(value).map((problem) => invalidField(field, value, problem)),
    ...(key === LEASE_SET_LABEL ? [invalidField(field, key, 'it says which set a Lease is of, and is set by it')] : []),
  ];
}

/** Whoever accepts terms in a template stands beside it, and so on each Lease that is made of it. */
export function admitLeaseSet(draft: LeaseSet, previous: LeaseSet | undefined, context: AdmissionContext): LeaseSet {
  const { template } = draft.spec;
  const { acceptedTerms } = template.spec;
  if (acceptedTerms === undefined) return draft;
  const stamped = stampedTerms(acceptedTerms, previous?.spec.template.spec.acceptedTerms, context);
  const spec = { ...template.spec, acceptedTerms: stamped };
  return { ...draft, spec: { ...draft.spec, template: { ...template, spec } } };
}

const OPERATORS_ONLY = ['allowBusy', 'anyHost'] as const;

/** What sets a rule aside for a Lease does so for a set of them: it is an operator's to ask. */
export const leaseSetRights: Guard<LeaseSet> = {
  name: 'lease-set-rights',
  fences: () => NO_FENCES,
  judge({ before, after }, _world, { asker }) {
    if (after === undefined || asker.operator) return undefined;
    const set = OPERATORS_ONLY.map((field) => ['spec', 'template', 'spec', field]).find(
      (path) => valueAt(after, path) === true && valueAt(before, path) !== true,
    );
    if (set === undefined) return undefined;
    return { answer: 'Forbidden', cause: 'OperatorsOnly', message: `only operators set ${set.join('.')}` };
  },
};
