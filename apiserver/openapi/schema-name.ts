import type { Kind } from '../../resources/meta/define-kind.ts';

/** Where the schemas shared by all kinds stand. */
export const META_PREFIX = 'io.k8s.apimachinery.pkg.apis.meta.v1';
export const SCALE_SCHEMA = 'io.k8s.api.autoscaling.v1.Scale';

/**
 * The name of a kind's schema: its group reversed (`dev.coppice.v1.VM`), or Kubernetes' own name for a built-in
 * (`io.k8s.api.coordination.v1.Lease`).
 */
export function schemaName(kind: Pick<Kind, 'group' | 'version' | 'origin'>, name: string): string {
  if (kind.origin === 'core') {
    const group = kind.group === '' ? 'core' : (kind.group.split('.')[0] ?? kind.group);
    return `io.k8s.api.${group}.${kind.version}.${name}`;
  }
  return `${kind.group.split('.').reverse().join('.')}.${kind.version}.${name}`;
}

export const refTo = (name: string): { readonly $ref: string } => ({ $ref: `#/components/schemas/${name}` });
