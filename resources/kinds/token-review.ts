import { defineQuestion } from '../meta/define-question.ts';
import type { Schema } from '../meta/schema.ts';
import { userInfo } from './user-info.ts';

const audiences = (description: string): Schema => ({
  type: 'array',
  items: { type: 'string' },
  description,
  'x-kubernetes-list-type': 'atomic',
});

/** Whose is this token? (k8s.io/api/authentication/v1) */
export const TokenReview = defineQuestion({
  group: 'authentication.k8s.io',
  kind: 'TokenReview',
  schema: {
    type: 'object',
    description: 'Asks whether a token is good, and whose it is.',
    properties: {
      spec: {
        type: 'object',
        description: 'The question.',
        properties: {
          token: { type: 'string', description: 'The token in question.' },
          audiences: audiences('Whom the token must be meant for, one of these; this server when there are none.'),
        },
      },
      status: {
        type: 'object',
        description: 'The answer.',
        properties: {
          authenticated: { type: 'boolean', description: 'Whether the token is good.' },
          user: userInfo('Whose the token is.'),
          audiences: audiences('Which of the audiences asked for the token is meant for.'),
          error: { type: 'string', description: 'Why the token could not be judged good.' },
        },
      },
    },
  },
});
