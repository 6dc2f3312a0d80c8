/** Who asks. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

/** What an identity may be, as the authorization table knows it. */
export type Role = 'operator' | 'host' | `controller:${string}`;

export const OPERATOR: Identity = { user: 'operator', groups: ['coppice:operators', 'system:authenticated'] };

/** The identity of a nodelet: it may touch its own Host and the VMs bound to it. */
export function hostIdentity(name: string, uid?: string): Identity {
  return {
    user: `system:host:${name}`,
    groups: ['system:hosts', 'system:authenticated'],
    ...(uid === undefined ? {} : { uid }),
  };
}

/** The identity of one controller duty. */
export function controllerIdentity(duty: string): Identity {
  return { user: `system:controller:${duty}`, groups: ['system:controllers', 'system:authenticated'] };
}

/** The role of an identity; undefined = known to nobody. */
export function roleOf(identity: Identity): Role | undefined {
  if (identity.groups.includes('coppice:operators')) return 'operator';
  if (identity.groups.includes('system:hosts') && /^system:host:./.test(identity.user)) return 'host';
  if (identity.groups.includes('system:controllers') && /^system:controller:./.test(identity.user))
    return `controller:${identity.user.slice('system:controller:'.length)}`;
  return undefined;
}

/** The host a nodelet's identity is for. */
export function hostNameOf(identity: Identity): string {
  return identity.user.slice('system:host:'.length);
}

/** The writer names (`x-coppice-writer`) an identity may write as. The operator may write as any. */
export function writesAs(identity: Identity, writer: string): boolean {
  const role = roleOf(identity);
  return role === 'operator' || role === `controller:${writer}` || (role === 'host' && writer === 'nodelet');
}
