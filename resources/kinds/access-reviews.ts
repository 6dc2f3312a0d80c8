import { defineQuestion } from '../meta/define-question.ts';
import type { Schema } from '../meta/schema.ts';

const GROUP = 'authorization.k8s.io';

const text = (description: string): Schema => ({ type: 'string', description });

const texts = (description: string): Schema => ({
  type: 'array',
  items: { type: 'string' },
  description,
  'x-kubernetes-list-type': 'atomic',
});

const selector = (description: string): Schema => ({
  type: 'object',
  description,
  properties: {
    rawSelector: text('The selector as it would stand in a query.'),
    requirements: {
      type: 'array',
      description: 'The selector in parts, each of which must hold.',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: {
          key: text('What is compared.'),
          operator: text('In, NotIn, Exists or DoesNotExist.'),
          values: texts('What it is compared with.'),
        },
      },
    },
  },
});

const resourceAttributes: Schema = {
  type: 'object',
  description: 'A request for a resource.',
  properties: {
    namespace: text('The namespace; none for all namespaces and for what is in none.'),
    verb: text('What is to be done, such as get; * is all.'),
    group: text('The API group; * is all.'),
    version: text('The version of the group; * is all.'),
    resource: text('The resource by its plural name; * is all.'),
    subresource: text('A subresource of it.'),
    name: text('The one object; none for all.'),
    fieldSelector: selector('The field selector of a list, watch or deletecollection.'),
    labelSelector: selector('The label selector of a list, watch or deletecollection.'),
  },
};

const nonResourceAttributes: Schema = {
  type: 'object',
  description: 'A request for a path that is no resource.',
  properties: { path: text('The path.'), verb: text('The method in lower case, such as get.') },
};

const status: Schema = {
  type: 'object',
  description: 'The answer.',
  required: ['allowed'],
  properties: {
    allowed: { type: 'boolean', description: 'Whether it may be done.' },
    denied: { type: 'boolean', description: 'Whether nothing else could allow it.' },
    reason: text('Why.'),
    evaluationError: text('What went wrong while judging.'),
  },
};

const subject: Readonly<Record<string, Schema>> = {
  user: text('Who would ask.'),
  groups: texts('The groups of who would ask.'),
  uid: text('The uid of who would ask.'),
  extra: {
    type: 'object',
    description: 'What else is known of who would ask.',
    additionalProperties: { type: 'array', items: { type: 'string' }, description: 'The values of one key.' },
  },
};

function question(kind: string, description: string, who: Readonly<Record<string, Schema>>, namespaced = false) {
  const spec = {
    type: 'object',
    description: 'The question: one of the two kinds of attributes.',
    properties: { resourceAttributes, nonResourceAttributes, ...who },
  } as const;
  const schema: Schema = { type: 'object', description, properties: { spec, status } };
  return defineQuestion({ group: GROUP, kind, namespaced, schema });
}

/** May I? (k8s.io/api/authorization/v1) */
export const SelfSubjectAccessReview = question('SelfSubjectAccessReview', 'Asks whether the caller may.', {});

/** May they? (k8s.io/api/authorization/v1) */
export const SubjectAccessReview = question('SubjectAccessReview', 'Asks whether somebody may.', subject);

/** May they, in this namespace? (k8s.io/api/authorization/v1) */
export const LocalSubjectAccessReview = question(
  'LocalSubjectAccessReview',
  'Asks whether somebody may, in one namespace.',
  subject,
  true,
);
