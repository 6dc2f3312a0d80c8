import type { ActionSubresource } from '../meta/define-kind.ts';

/** The `token` of a Host: what a nodelet shows to get its first certificate. */
export const HOST_TOKEN: ActionSubresource = {
  name: 'token',
  description: 'Mint a token that enrolls the host once.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'HostToken',
    origin: 'coppice',
    schema: {
      type: 'object',
      description: 'Asks for a token that enrolls one host, once.',
      properties: {
        spec: {
          type: 'object',
          description: 'What the token is to be.',
          default: {},
          properties: {
            expirationSeconds: {
              type: 'integer',
              format: 'int64',
              default: 3600,
              minimum: 60,
              maximum: 86_400,
              description: 'How long it is good, in seconds: from a minute to a day.',
            },
          },
        },
        status: {
          type: 'object',
          description: 'The token.',
          properties: {
            token: {
              type: 'string',
              description:
                'The token, which names the host and the authorities its nodelet is to trust. It is told this once.',
            },
            expirationTimestamp: { type: 'string', format: 'date-time', description: 'When it ends.' },
          },
        },
      },
    },
  },
};
