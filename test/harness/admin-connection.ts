import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';

export interface AdminConnection {
  readonly url: string;
  readonly token: string;
  /** In PEM. */
  readonly ca: string;
}

/** As `coppice up` writes it. */
interface AdminKubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/** What the kubeconfig of a home says. */
export async function adminConnection(home: string): Promise<AdminConnection> {
  const { clusters, users } = load(await readFile(join(home, 'kubeconfig'), 'utf8')) as AdminKubeconfig;
  const cluster = clusters[0]?.cluster;
  const user = users[0]?.user;
  if (cluster === undefined || user === undefined) throw new Error(`the kubeconfig of ${home} is empty`);
  return {
    url: cluster.server,
    token: user.token,
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64').toString(),
  };
}
