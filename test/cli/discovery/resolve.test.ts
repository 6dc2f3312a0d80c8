import assert from 'node:assert/strict';
import type { DiscoveredResource } from '../../../cli/discovery/discovery.ts';
import { resolveResource, resolveResources } from '../../../cli/discovery/resolve.ts';
import { selectionOf } from '../../../cli/discovery/selection.ts';
import { qualified } from '../../../resources/meta/api-error.ts';

const resource = (
  group: string,
  plural: string,
  kind: string,
  extra: Partial<DiscoveredResource> = {},
): DiscoveredResource => ({
  group,
  version: 'v1',
  plural,
  kind,
  singular: kind.toLowerCase(),
  shortNames: [],
  categories: [],
  namespaced: true,
  verbs: ['get', 'list'],
  preferred: true,
  ...extra,
});

const ALL = [
  resource('', 'namespaces', 'Namespace', { shortNames: ['ns'] }),
  resource('coordination.k8s.io', 'leases', 'Lease'),
  resource('coppice.dev', 'vms', 'VM', { shortNames: ['vm'], categories: ['coppice'] }),
  resource('coppice.dev', 'leases', 'Lease', { shortNames: ['ls'], categories: ['coppice'] }),
  resource('example.com', 'vms', 'VM'),
  resource('example.com', 'things', 'Thing', { shortNames: ['vm'], version: 'v2', preferred: true }),
  resource('example.com', 'things', 'Thing', { version: 'v1', preferred: false }),
];

describe('a type on the command line', () => {
  const found: [string, string][] = [
    ['vms', 'vms.coppice.dev'],
    ['vm', 'vms.coppice.dev'],
    ['VM', 'vms.coppice.dev'],
    ['Vms', 'vms.coppice.dev'],
    ['ns', 'namespaces'],
    ['namespaces.v1', 'namespaces'],
    ['leases', 'leases.coppice.dev'],
    ['leases.coordination.k8s.io', 'leases.coordination.k8s.io'],
    ['lease.v1.coordination.k8s.io', 'leases.coordination.k8s.io'],
    ['vms.example.com', 'vms.example.com'],
    ['vm.coppice.dev', 'vms.coppice.dev'],
    ['things', 'things.example.com'],
  ];
  for (const [word, expected] of found) {
    it(`${word} means ${expected}`, () => assert.equal(qualified(resolveResource(ALL, word)), expected));
  }

  it('names another version of its group when that is asked for', () => {
    assert.equal(resolveResource(ALL, 'things').version, 'v2');
    assert.equal(resolveResource(ALL, 'things.v1.example.com').version, 'v1');
  });

  it('may be a category', () => {
    assert.deepEqual(resolveResources(ALL, 'coppice').map(qualified), ['vms.coppice.dev', 'leases.coppice.dev']);
  });

  it('that is unknown is an error with the nearest one', () => {
    assert.throws(() => resolveResource(ALL, 'leasez'), {
      message: 'the server doesn\'t have a resource type "leasez"',
      hint: 'did you mean leases?',
    });
    assert.throws(() => resolveResource(ALL, 'pods'), {
      message: 'the server doesn\'t have a resource type "pods"',
      hint: 'kubectl api-resources lists them all, such as vms',
    });
    assert.throws(() => resolveResource(ALL, 'vms.nowhere.org'), { name: 'Failure' });
  });
});

describe('the words of a command', () => {
  const show = (words: string[]) => {
    const selection = selectionOf(ALL, words);
    if (selection.kind === 'all') return selection.resources.map(qualified);
    return selection.objects.map(({ resource: r, name }) => `${qualified(r)}/${name}`);
  };

  it('are a type, types with commas, a type and names, or types with slashes', () => {
    assert.deepEqual(show(['vms']), ['vms.coppice.dev']);
    assert.deepEqual(show(['ns,vm']), ['namespaces', 'vms.coppice.dev']);
    assert.deepEqual(show(['vm', 'a', 'b']), ['vms.coppice.dev/a', 'vms.coppice.dev/b']);
    assert.deepEqual(show(['vm/a', 'ns/b']), ['vms.coppice.dev/a', 'namespaces/b']);
  });

  for (const words of [[], ['vm/a', 'b'], ['vm/'], ['/a'], ['vm/a/b']]) {
    it(`are refused as ${JSON.stringify(words)}`, () => assert.throws(() => show(words), { name: 'Failure' }));
  }
});
