/** `coppice.dev/v1`, or `v1` in the core group. */
export function apiVersionOf(ref: { readonly group: string; readonly version: string }): string {
  return ref.group === '' ? ref.version : `${ref.group}/${ref.version}`;
}

/** How stores and caches name a resource: `coppice.dev/vms`, `core/namespaces`. The version is not part of it. */
export function resourceId(ref: { readonly group: string; readonly plural: string }): string {
  return `${ref.group === '' ? 'core' : ref.group}/${ref.plural}`;
}
