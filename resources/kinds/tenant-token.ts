import type { ActionSubresource } from '../meta/define-kind.ts';

/** The `token` of a Tenant: what its owner shows. Asking for another one ends the one before. */
export const TENANT_TOKEN: ActionSubresource = {
  name: 'token',
  description: 'Mint the token of the tenant; the one before is no good any more.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'TenantToken',
    // As with questions of Kubernetes, apiVersion and kind may be left out.
    origin: 'core',
    schema: {
      type: 'object',
      description: 'Asks for the token of a tenant: of whoever owns it.',
      properties: {
        spec: {
          type: 'object',
          description: 'What the token is to be.',
          default: {},
          properties: {},
        },
        status: {
          type: 'object',
          description: 'The token.',
          properties: {
            token: {
              type: 'string',
              description: 'The token. It is told this once, and good until another is made or the tenant is deleted.',
            },
          },
        },
      },
    },
  },
};
