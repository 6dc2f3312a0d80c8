import type { ActionSubresource } from '../meta/define-kind.ts';

/** The `certificate` of a Host: signed for whoever shows the host's token, or the certificate it has. */
export const HOST_CERTIFICATE: ActionSubresource = {
  name: 'certificate',
  description: 'Sign a client certificate for the nodelet of the host.',
  request: {
    group: 'coppice.dev',
    version: 'v1',
    kind: 'HostCertificate',
    origin: 'coppice',
    schema: {
      type: 'object',
      description: 'Asks for a client certificate, bound to the Host as it is now.',
      required: ['spec'],
      properties: {
        spec: {
          type: 'object',
          description: 'What is to be signed.',
          required: ['request'],
          properties: {
            request: {
              type: 'string',
              maxLength: 8192,
              description:
                'A certification request (PKCS #10, PEM) signed by a key of the curve P-256. Only the key is taken from it.',
            },
          },
        },
        status: {
          type: 'object',
          description: 'The certificate.',
          properties: {
            certificate: { type: 'string', description: 'The certificate, as PEM.' },
            authorities: {
              type: 'string',
              description: 'The certificates of the authorities that servers are trusted by, as PEM.',
            },
            expirationTimestamp: { type: 'string', format: 'date-time', description: 'When the certificate ends.' },
          },
        },
      },
    },
  },
};
