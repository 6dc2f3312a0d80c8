import { defineQuestion } from '../meta/define-question.ts';
import { userInfo } from './user-info.ts';

/** Who am I? (k8s.io/api/authentication/v1) */
export const SelfSubjectReview = defineQuestion({
  group: 'authentication.k8s.io',
  kind: 'SelfSubjectReview',
  schema: {
    type: 'object',
    description: 'Asks the server who it takes the caller for.',
    properties: {
      status: {
        type: 'object',
        description: 'The answer.',
        properties: { userInfo: userInfo('Who the caller is.') },
      },
    },
  },
});
