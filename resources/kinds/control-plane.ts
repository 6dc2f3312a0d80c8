import type { ActionSubresource } from '../meta/define-kind.ts';

/** The `controlplane` of a Host: what its nodelet must know of who gives it orders. */
export const CONTROL_PLANE: ActionSubresource = {
  name: 'controlplane',
  description: 'Tell which store the orders of the host come from, and whom to trust.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'ControlPlane',
    origin: 'coppice',
    schema: {
      type: 'object',
      description: 'Asks which store the orders of a host come from.',
      properties: {
        status: {
          type: 'object',
          description: 'The control plane as it is now.',
          properties: {
            storeUID: { type: 'string', description: 'The identity of the store.' },
            revision: { type: 'integer', format: 'int64', description: 'How far the store has come.' },
            authorities: {
              type: 'string',
              description: 'The SHA-256 of the authorities as `certificate` tells them, in hex.',
            },
          },
        },
      },
    },
  },
};
