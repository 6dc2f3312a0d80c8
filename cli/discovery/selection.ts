import { Failure } from '../failure.ts';
import type { DiscoveredResource } from './discovery.ts';
import { resolveResource, resolveResources } from './resolve.ts';

/** What the words of a command name: all of some resources, or objects one by one. */
type Selection =
  | { readonly kind: 'all'; readonly resources: readonly DiscoveredResource[] }
  | { readonly kind: 'named'; readonly objects: readonly NamedObject[] };

export interface NamedObject {
  readonly resource: DiscoveredResource;
  readonly name: string;
}

/** Reads `TYPE[,TYPE]`, `TYPE[,TYPE] NAME…` or `TYPE/NAME…`. */
export function selectionOf(all: readonly DiscoveredResource[], words: readonly string[]): Selection {
  const [types, ...names] = words;
  if (types === undefined) throw new Failure('name a type of object', { hint: 'for example vms, or vm/hello' });
  if (words.some((word) => word.includes('/'))) {
    return { kind: 'named', objects: words.map((word) => slashed(all, word)) };
  }
  if (names.length === 0)
    return { kind: 'all', resources: split(types).flatMap((word) => resolveResources(all, word)) };
  const resources = split(types).map((word) => resolveResource(all, word));
  return { kind: 'named', objects: resources.flatMap((resource) => names.map((name) => ({ resource, name }))) };
}

function split(types: string): string[] {
  return types.split(',').filter((word) => word !== '');
}

function slashed(all: readonly DiscoveredResource[], word: string): NamedObject {
  const [type = '', name = '', extra] = word.split('/');
  if (type === '' || name === '' || extra !== undefined)
    throw new Failure(`"${word}" is not TYPE/NAME`, {
      hint: 'either all words are TYPE/NAME, or the first is the type',
    });
  return { resource: resolveResource(all, type), name };
}
