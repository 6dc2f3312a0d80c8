import type { ActionSubresource } from '../meta/define-kind.ts';

/** The `jointoken` of the Policy: what a new API server shows to be given the keys of the fleet. */
export const JOIN_TOKEN: ActionSubresource = {
  name: 'jointoken',
  description: 'Mint a token by which one new API server gets the keys of the fleet.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'JoinToken',
    origin: 'coppice',
    schema: {
      type: 'object',
      description: 'Asks for a token by which one new API server gets the keys of the fleet, once.',
      properties: {
        spec: {
          type: 'object',
          description: 'What the token is to be.',
          default: {},
          properties: {
            expirationSeconds: {
              type: 'integer',
              format: 'int64',
              default: 900,
              minimum: 60,
              maximum: 3600,
              description: 'How long it is good, in seconds: from a minute to an hour.',
            },
          },
        },
        status: {
          type: 'object',
          description: 'The token.',
          properties: {
            token: { type: 'string', description: 'The token. It is told this once.' },
            authorities: {
              type: 'array',
              items: { type: 'string' },
              description: 'SHA-256 of the public keys of the authorities that the new server is to trust, in hex.',
              'x-kubernetes-list-type': 'atomic',
            },
            expirationTimestamp: { type: 'string', format: 'date-time', description: 'When it ends.' },
          },
        },
      },
    },
  },
};

/** The `join` of the Policy: the keys of the fleet, for whoever shows a token that `jointoken` made. */
export const SERVER_JOIN: ActionSubresource = {
  name: 'join',
  description: 'Get the keys of the fleet as a new API server, with a token made for that.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'ServerJoin',
    origin: 'coppice',
    schema: {
      type: 'object',
      description: 'Asks for the keys of the fleet.',
      properties: {
        status: {
          type: 'object',
          description: 'The keys. They are told once a token.',
          properties: {
            files: {
              type: 'object',
              additionalProperties: { type: 'string' },
              description: 'What is in the folder of keys, by the name of the file.',
            },
          },
        },
      },
    },
  },
};
