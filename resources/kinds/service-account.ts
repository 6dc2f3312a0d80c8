import { defineKind } from '../meta/define-kind.ts';
import type { KubeObject } from '../meta/object.ts';
import { OBJECT_REFERENCE, type ObjectReference } from '../meta/object-reference.ts';
import { TOKEN } from './token-request.ts';

export interface ServiceAccount extends KubeObject {
  secrets?: ObjectReference[];
  imagePullSecrets?: { name?: string }[];
  automountServiceAccountToken?: boolean;
}

/** The core ServiceAccount (k8s.io/api/core/v1): somebody who is a program. */
export const ServiceAccount = defineKind<ServiceAccount>({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  namespaced: true,
  generations: false,
  origin: 'core',
  struct: true,
  actions: [TOKEN],
  schema: {
    type: 'object',
    description: 'An identity of programs.',
    properties: {
      secrets: {
        type: 'array',
        description: 'Secrets that go with it.',
        items: { ...OBJECT_REFERENCE, description: 'A Secret.' },
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      imagePullSecrets: {
        type: 'array',
        description: 'Secrets that images are fetched with.',
        items: {
          type: 'object',
          description: 'A Secret.',
          properties: { name: { type: 'string', description: 'Its name.' } },
          'x-kubernetes-map-type': 'atomic',
        },
        'x-kubernetes-list-type': 'atomic',
      },
      automountServiceAccountToken: {
        type: 'boolean',
        nullable: true,
        description: 'Whether programs are given its token without asking.',
      },
    },
  },
  columns: [
    {
      name: 'Secrets',
      type: 'string',
      description: 'How many Secrets go with it, by its own list.',
      jsonPath: '',
      value: secretCount,
    },
  ],
});

function secretCount({ secrets }: KubeObject): number {
  return Array.isArray(secrets) ? secrets.length : 0;
}
