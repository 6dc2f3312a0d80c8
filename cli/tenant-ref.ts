import { Failure, usage } from './failure.ts';

/** The one Tenant a command is about: `NAME`, or `tenant/NAME` as kubectl users write it. */
export function tenantName(words: readonly string[], verb: string): string {
  const [word, extra] = words;
  if (word === undefined) throw usage('name the tenant', verb);
  if (extra !== undefined) throw usage(`one tenant at a time, but got "${word}" and "${extra}"`, verb);
  const name = word.replace(/^(tn|tenants?)(\.coppice\.dev)?\//, '');
  if (name === '' || name.includes('/')) throw new Failure(`"${word}" is not the name of a tenant`);
  return name;
}
