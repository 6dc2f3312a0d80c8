import type { ActionSubresource } from '../meta/define-kind.ts';
import type { Schema } from '../meta/schema.ts';

/** The life of a token for which none was asked, in seconds. */
const DEFAULT_SECONDS = 3600;

const boundObjectRef: Schema = {
  type: 'object',
  nullable: true,
  description: 'An object the token dies with.',
  properties: {
    apiVersion: { type: 'string', description: 'Its API version.' },
    kind: { type: 'string', description: 'Its kind; Secret is the one there is.' },
    name: { type: 'string', description: 'Its name.' },
    uid: { type: 'string', description: 'Its uid, when it must be this very object.' },
  },
};

/** The `token` of a ServiceAccount (k8s.io/api/authentication/v1 TokenRequest). */
export const TOKEN: ActionSubresource = {
  name: 'token',
  description: 'Mint a token for the account.',
  request: {
    group: 'authentication.k8s.io',
    version: 'v1',
    kind: 'TokenRequest',
    origin: 'core',
    schema: {
      type: 'object',
      description: 'Asks for a token.',
      properties: {
        spec: {
          type: 'object',
          description: 'What the token is to be.',
          default: {},
          properties: {
            audiences: {
              type: 'array',
              items: { type: 'string' },
              description: 'Whom the token is meant for; this server when there are none.',
              'x-kubernetes-list-type': 'atomic',
            },
            expirationSeconds: {
              type: 'integer',
              format: 'int64',
              default: DEFAULT_SECONDS,
              description: 'How long the token lives, in seconds: ten minutes at least.',
            },
            boundObjectRef,
          },
        },
        status: {
          type: 'object',
          description: 'The token.',
          properties: {
            token: { type: 'string', description: 'The token. It is told this once.' },
            expirationTimestamp: { type: 'string', format: 'date-time', nullable: true, description: 'When it ends.' },
          },
        },
      },
    },
  },
};
