import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { tenantName } from '../tenant-ref.ts';
import { TENANTS } from '../vm-ref.ts';

export interface TenantCreateOptions {
  readonly words: readonly string[];
  readonly displayName: string | undefined;
  readonly hostGroup: string | undefined;
  readonly maxVMs: number | undefined;
  readonly maxVCPUs: number | undefined;
  readonly maxMemory: string | undefined;
  readonly maxLeasedHosts: number | undefined;
}

/** Makes a Tenant, and with it the namespace it lives in. */
export async function createTenant(io: Io, target: Target, options: TenantCreateOptions): Promise<void> {
  const name = tenantName(options.words, 'tenant create');
  const { displayName, hostGroup, maxVMs, maxVCPUs, maxMemory, maxLeasedHosts } = options;
  const quota = given({ maxVMs, maxVCPUs, maxMemory, maxLeasedHosts });
  const spec = given({ displayName, hostGroup, quota: Object.keys(quota).length === 0 ? undefined : quota });
  await using session = await openSession(io, target);
  const wish = { apiVersion: 'coppice.dev/v1', kind: 'Tenant', metadata: { name }, spec };
  await session.client.resource<KubeObject>(TENANTS).create(wish, { fieldManager: 'coppice' }, io.signal);
  printLine(io, `tenant.coppice.dev/${name} created`);
}

const given = (fields: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
