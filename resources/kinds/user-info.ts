import type { Schema } from '../meta/schema.ts';

/** Who somebody is (k8s.io/api/authentication/v1 UserInfo), as a schema. */
export function userInfo(description: string): Schema {
  return {
    type: 'object',
    description,
    properties: {
      username: { type: 'string', description: 'The name that rights are given to.' },
      uid: { type: 'string', description: 'Tells apart those who bore the name at different times.' },
      groups: {
        type: 'array',
        items: { type: 'string' },
        description: 'The groups the user is in.',
        'x-kubernetes-list-type': 'atomic',
      },
      extra: {
        type: 'object',
        description: 'What else was learned of the user.',
        additionalProperties: { type: 'array', items: { type: 'string' }, description: 'The values of one key.' },
      },
    },
  };
}
