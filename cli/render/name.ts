import type { ResourceRef } from '../../resources/meta/define-kind.ts';

/** `vm.coppice.dev/hello`, or `namespace/demo` in the core group: how kubectl names an object in a line of output. */
export function objectName(ref: Pick<ResourceRef, 'group' | 'kind'>, name: string): string {
  return `${typeName(ref)}/${name}`;
}

/** `vm.coppice.dev`, or `namespace`. */
export function typeName(ref: Pick<ResourceRef, 'group' | 'kind'>): string {
  const kind = ref.kind.toLowerCase();
  return ref.group === '' ? kind : `${kind}.${ref.group}`;
}
