import type { ApiClient } from '../../apiserver/client/client.ts';
import { HOST_CERTIFICATE } from '../../resources/kinds/host-certificate.ts';
import { isObject } from '../../resources/meta/object.ts';
import { askHost } from './ask-host.ts';
import { requestFor } from './host-key.ts';
import type { Credentials } from './identity-file.ts';

/** Asks for a certificate for a key of this host. Throws `ApiError` when it is refused, `UnreachableError` when nobody can be asked. */
export async function requestCertificate(
  client: ApiClient,
  host: string,
  key: string,
  signal: AbortSignal,
): Promise<Credentials> {
  const status = await askHost(client, host, HOST_CERTIFICATE, { request: await requestFor(key) }, signal);
  const { certificate, authorities } = isObject(status) ? status : {};
  if (typeof certificate !== 'string' || typeof authorities !== 'string')
    throw new Error('the server answered no certificate');
  return { key, certificate, authorities };
}
