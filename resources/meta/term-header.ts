/** The header under which a leader's requests say which coordination Lease they are done under, and at which version: `NAMESPACE/NAME/VERSION`. */
export const TERM_HEADER = 'x-coppice-term';

/** A time of leading. It is over when the Lease stands at another version. */
export interface Term {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

export function termHeader({ namespace, name, resourceVersion }: Term): string {
  return `${namespace}/${name}/${resourceVersion}`;
}

/** The term that a header's value names; undefined when it is none. */
export function parseTerm(text: string): Term | undefined {
  const [, namespace, name, resourceVersion] = /^([a-z0-9.-]+)\/([a-z0-9.-]+)\/([0-9]+)$/.exec(text) ?? [];
  if (namespace === undefined || name === undefined || resourceVersion === undefined) return undefined;
  return { namespace, name, resourceVersion };
}
