import { defineQuestion } from '../meta/define-question.ts';
import type { Schema } from '../meta/schema.ts';

const texts = (description: string): Schema => ({
  type: 'array',
  items: { type: 'string' },
  description,
  'x-kubernetes-list-type': 'atomic',
});

const rules = (description: string, properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'array',
  description,
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['verbs'],
    properties: { verbs: texts('What may be done; * is all.'), ...properties },
  },
});

/** What may I do here? (k8s.io/api/authorization/v1) */
export const SelfSubjectRulesReview = defineQuestion({
  group: 'authorization.k8s.io',
  kind: 'SelfSubjectRulesReview',
  schema: {
    type: 'object',
    description: 'Asks for all that the caller may do in a namespace.',
    properties: {
      spec: {
        type: 'object',
        description: 'The question.',
        properties: { namespace: { type: 'string', description: 'The namespace.' } },
      },
      status: {
        type: 'object',
        description: 'The answer.',
        required: ['resourceRules', 'nonResourceRules', 'incomplete'],
        properties: {
          resourceRules: rules('What may be done with resources.', {
            apiGroups: texts('The groups; * is all.'),
            resources: texts('The resources; * is all.'),
            resourceNames: texts('Only these objects; all when there are none.'),
          }),
          nonResourceRules: rules('What may be done with paths that are no resources.', {
            nonResourceURLs: texts('The paths; * at the end is all that follow.'),
          }),
          incomplete: { type: 'boolean', description: 'Whether there is more that could not be told.' },
          evaluationError: { type: 'string', description: 'Why the list is not complete.' },
        },
      },
    },
  },
});
