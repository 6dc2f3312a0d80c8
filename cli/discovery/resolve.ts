import { apiVersionOf } from '../../resources/meta/resource-id.ts';
import { Failure } from '../failure.ts';
import type { DiscoveredResource } from './discovery.ts';

/**
 * The resource a word means, as kubectl takes it: plural, singular, kind in any case, short name, each also as `NAME.GROUP` or
 * `NAME.VERSION.GROUP`. Ours come before Kubernetes' own where a name is shared; among others the server's order decides.
 */
export function resolveResource(all: readonly DiscoveredResource[], word: string): DiscoveredResource {
  const found = candidates(all, word)[0];
  if (found !== undefined) return found;
  const near = nearest(all, word.toLowerCase());
  throw new Failure(`the server doesn't have a resource type "${word}"`, {
    hint: near === undefined ? fewOf(all) : `did you mean ${near}?`,
  });
}

/** The resources of a word that may also be a category (`coppice`, `all`). */
export function resolveResources(all: readonly DiscoveredResource[], word: string): DiscoveredResource[] {
  const single = candidates(all, word)[0];
  if (single !== undefined) return [single];
  const category = all.filter((r) => r.preferred && r.categories.includes(word) && r.verbs.includes('list'));
  return category.length > 0 ? category : [resolveResource(all, word)];
}

/** The resource of an object's apiVersion and kind. */
export function resourceOfKind(
  all: readonly DiscoveredResource[],
  apiVersion: string,
  kind: string,
): DiscoveredResource | undefined {
  return all.find((r) => apiVersionOf(r) === apiVersion && r.kind === kind);
}

function candidates(all: readonly DiscoveredResource[], word: string): DiscoveredResource[] {
  const lower = word.toLowerCase();
  const [name = '', ...rest] = lower.split('.');
  const suffix = rest.join('.');
  const grouped = all.filter(
    (r) =>
      suffix === '' ||
      suffix === r.group ||
      suffix === `${r.version}.${r.group}` ||
      (r.group === '' && suffix === r.version),
  );
  const versions = suffix === '' ? grouped.filter((r) => r.preferred) : grouped;
  const by = (match: (r: DiscoveredResource) => boolean) => versions.filter(match).sort(oursFirst);
  const exact = by((r) => r.plural === name || r.singular === name || r.kind.toLowerCase() === name);
  return exact.length > 0 ? exact : by((r) => r.shortNames.includes(name));
}

function oursFirst(a: DiscoveredResource, b: DiscoveredResource): number {
  return Number(b.group === 'coppice.dev') - Number(a.group === 'coppice.dev');
}

function nearest(all: readonly DiscoveredResource[], word: string): string | undefined {
  const names = all.filter((r) => r.preferred).flatMap((r) => [r.plural, r.singular]);
  return names
    .map((name) => ({ name, distance: editDistance(name, word) }))
    .filter(({ name, distance }) => distance <= Math.min(2, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)[0]?.name;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** What people come for, of what is there. */
const MAIN = ['vms', 'hosts', 'tenants', 'images'];

function fewOf(all: readonly DiscoveredResource[]): string {
  const there = MAIN.filter((name) => all.some(({ group, plural }) => group === 'coppice.dev' && plural === name));
  return `kubectl api-resources lists them all${there.length === 0 ? '' : `, such as ${there.join(', ')}`}`;
}
