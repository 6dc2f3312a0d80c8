/**
 * A client in a process of its own: sends large patches, one after the other on one connection, and tells the status of each. Arguments: url
 * of a ConfigMap's apply, token, how many; the certificate it trusts comes as $LARGE_PATCHES_CA.
 */
import { Agent } from 'node:https';
import { tlsRequest } from '../harness/tls-request.ts';

const [url = '', token = '', count = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: process.env.LARGE_PATCHES_CA ?? '' });
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' };
for (let i = 0; i < Number(count); i++) {
  const data = { text: `${i}`.padStart(500_000, 'x') };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data });
  const { status } = await tlsRequest(url, { method: 'PATCH', agent, headers, body });
  process.stdout.write(`${status}\n`);
}
agent.destroy();
