import assert from 'node:assert/strict';
import { AGGREGATED_CONTENT_TYPE, aggregatedCore, aggregatedGroups } from '../../../apiserver/discovery/aggregated.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { defineKind } from '../../../resources/meta/define-kind.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';

const KINDS = [WIDGET, GADGET, ...BUILT_IN_KINDS];

describe('aggregated discovery', () => {
  it('describes a kind whole', () => {
    const demo = aggregatedGroups(KINDS).items.find((item) => item.metadata.name === 'demo.example.com');
    const own = { group: 'demo.example.com', version: 'v1', kind: 'Widget' };
    assert.deepEqual(demo?.versions[0]?.resources[1], {
      resource: 'widgets',
      responseKind: own,
      scope: 'Namespaced',
      singularResource: 'widget',
      verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
      shortNames: ['wg'],
      categories: ['demo'],
      subresources: [
        { subresource: 'status', responseKind: own, verbs: ['get', 'patch', 'update'] },
        {
          subresource: 'scale',
          responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
          verbs: ['get', 'patch', 'update'],
        },
      ],
    });
    assert.equal(demo?.versions[0]?.freshness, 'Current');
    assert.equal(demo?.versions[0]?.resources[0]?.scope, 'Cluster');
    assert.equal(demo?.versions[0]?.resources[0]?.subresources, undefined);
  });

  it("puts our group first, so that leases are ours, and keeps the order kinds were registered in, but users' by name", () => {
    const { items } = aggregatedGroups(KINDS);
    assert.deepEqual(
      items.map((item) => item.metadata.name),
      [
        'coppice.dev',
        'apiextensions.k8s.io',
        'authentication.k8s.io',
        'authorization.k8s.io',
        'coordination.k8s.io',
        'demo.example.com',
        'events.k8s.io',
      ],
    );
    assert.deepEqual(
      items[0]?.versions[0]?.resources.map((r) => r.resource),
      ['tenants', 'hosts', 'images', 'policies', 'pricelists', 'leases', 'leasesets', 'vms', 'volumes', 'pools'],
    );
  });

  it('has core in /api under no name', () => {
    const { items } = aggregatedCore(KINDS);
    assert.equal(items.length, 1);
    assert.deepEqual(items[0]?.metadata, { creationTimestamp: null });
    assert.deepEqual(
      items[0]?.versions[0]?.resources.map((r) => r.resource),
      ['namespaces', 'configmaps', 'secrets', 'serviceaccounts', 'services', 'events'],
    );
    assert.deepEqual(aggregatedCore([WIDGET]).items, []);
  });

  it('tells of a question that it is created only, and of an action what answers', () => {
    const { items } = aggregatedGroups(KINDS);
    const reviews = items.find((item) => item.metadata.name === 'authentication.k8s.io')?.versions[0]?.resources ?? [];
    const tokenReviews = reviews.find((each) => each.resource === 'tokenreviews');
    assert.deepEqual([tokenReviews?.scope, tokenReviews?.verbs], ['Cluster', ['create']]);
    const accounts = aggregatedCore(KINDS).items[0]?.versions[0]?.resources.find(
      (r) => r.resource === 'serviceaccounts',
    );
    const responseKind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' };
    assert.deepEqual(accounts?.subresources, [{ subresource: 'token', responseKind, verbs: ['create'] }]);
  });

  it('speaks the older version with the same items', () => {
    const old = aggregatedGroups(KINDS, 'v2beta1');
    assert.equal(old.apiVersion, 'apidiscovery.k8s.io/v2beta1');
    const fresh = (items: typeof old.items) =>
      items.map((item) => ({ ...item, versions: item.versions.map((of) => ({ ...of, freshness: 'Current' })) }));
    assert.deepEqual(fresh(old.items), aggregatedGroups(KINDS, 'v2').items);
    assert.ok(old.items.every((item) => item.versions.every((of) => of.freshness === undefined)));
    assert.match(AGGREGATED_CONTENT_TYPE.v2beta1, /;v=v2beta1;as=APIGroupDiscoveryList$/);
    assert.match(AGGREGATED_CONTENT_TYPE.v2, /^application\/json;g=apidiscovery\.k8s\.io;v=v2;/);
  });

  it('puts the preferred version of a group first', () => {
    const versions = ['v1beta2', 'v10', 'foo', 'v1alpha1', 'v2', 'v1beta10'];
    const kinds = versions.map((version) => defineKind({ ...GADGET, version }));
    assert.deepEqual(
      aggregatedGroups(kinds).items[0]?.versions.map((of) => of.version),
      ['v10', 'v2', 'v1beta10', 'v1beta2', 'v1alpha1', 'foo'],
    );
  });
});
