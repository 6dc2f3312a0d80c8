import { defineKind } from '../meta/define-kind.ts';

/** The core Service (k8s.io/api/core/v1). There never is one: clients that look for services are told so instead of that there is no such kind. */
export const Service = defineKind({
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  generations: false,
  origin: 'core',
  verbs: ['get', 'list', 'watch'],
  schema: {
    type: 'object',
    description: 'A network service of a Kubernetes cluster. This server has none, and none can be made.',
    properties: {
      spec: {
        type: 'object',
        description: 'What it would offer, and to whom.',
        'x-kubernetes-preserve-unknown-fields': true,
      },
    },
  },
});
