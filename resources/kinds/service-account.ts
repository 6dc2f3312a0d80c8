import { defineKind } from '../meta/define-kind.ts';
import type { KubeObject } from '../meta/object.ts';
import { TOKEN } from './token-request.ts';

export interface ServiceAccount extends KubeObject {
  automountServiceAccountToken?: boolean;
}

/** The core ServiceAccount (k8s.io/api/core/v1): who a program is. */
export const ServiceAccount = defineKind<ServiceAccount>({
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  shortNames: ['sa'],
  namespaced: true,
  origin: 'core',
  generations: false,
  actions: [TOKEN],
  schema: {
    type: 'object',
    description: 'Who a program is.',
    properties: {
      automountServiceAccountToken: { type: 'boolean', description: 'Whether programs get its token by themselves.' },
    },
  },
});
