import assert from 'node:assert/strict';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from '../../../apiserver/discovery/legacy.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { defineKind, type Kind } from '../../../resources/meta/define-kind.ts';
import { GADGET, WIDGET } from '../../builders/widget.ts';

const KINDS = [...BUILT_IN_KINDS, WIDGET, GADGET];

describe('legacy discovery', () => {
  it('lists the resources of a group as a Kubernetes server was recorded to', () => {
    const list = apiResourceList(KINDS, 'demo.example.com', 'v1');
    const all = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
    assert.deepEqual(
      list?.resources.map((r) => [r.name, r.kind, r.namespaced, r.verbs]),
      [
        ['widgets', 'Widget', true, all],
        ['widgets/status', 'Widget', true, ['get', 'patch', 'update']],
        ['widgets/scale', 'Scale', true, ['get', 'patch', 'update']],
        ['gadgets', 'Gadget', false, all],
      ],
    );
  });

  it('has the hashes of storage versions that Kubernetes has, of what is stored', () => {
    const hashes = apiResourceList(KINDS, '', 'v1')?.resources.map((row) => [row.name, row.storageVersionHash]);
    assert.deepEqual(hashes?.slice(0, 2), [
      ['namespaces', 'Q3oi5N2YM8M='],
      ['namespaces/status', undefined],
    ]);
    const asked = defineKind({ ...GADGET, verbs: ['create'] });
    assert.equal(apiResourceList([asked], 'demo.example.com', 'v1')?.resources[0]?.storageVersionHash, undefined);
    const kept = defineKind({ ...GADGET, version: 'v2', storage: { version: 'v1', schema: GADGET.schema } });
    const hashOf = (kind: Kind) => apiResourceList([kind], kind.group, kind.version)?.resources[0]?.storageVersionHash;
    assert.equal(hashOf(kept), hashOf(GADGET));
  });

  it('names a main resource in the singular, with short names and categories, and a subresource not at all', () => {
    const [widgets, status, scale] = apiResourceList(KINDS, 'demo.example.com', 'v1')?.resources ?? [];
    assert.equal(widgets?.singularName, 'widget');
    assert.deepEqual(widgets?.shortNames, ['wg']);
    assert.deepEqual(widgets?.categories, ['demo']);
    assert.equal(status?.singularName, '');
    assert.equal(status?.group, undefined);
    assert.deepEqual([scale?.group, scale?.version], ['autoscaling', 'v1']);
  });

  it('answers a group as recorded, and has no document for unknown ones', () => {
    const preferredVersion = { groupVersion: 'demo.example.com/v1', version: 'v1' };
    assert.deepEqual(apiGroup(KINDS, 'demo.example.com'), {
      apiVersion: 'v1',
      kind: 'APIGroup',
      name: 'demo.example.com',
      preferredVersion,
      versions: [preferredVersion],
    });
    assert.equal(apiGroup(KINDS, 'nothing.example.com'), undefined);
    assert.equal(apiGroup(KINDS, ''), undefined);
    assert.equal(apiResourceList(KINDS, 'demo.example.com', 'v2'), undefined);
  });

  it('puts our group first, the others by name, and core in /api only', () => {
    assert.deepEqual(
      apiGroupList([GADGET, ...BUILT_IN_KINDS]).groups.map((group) => group.name),
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
    assert.deepEqual(apiVersions(KINDS, '127.0.0.1:6443'), {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:6443' }],
    });
    assert.deepEqual(apiVersions([WIDGET], 'here:1').versions, []);
  });

  it('has a row a stream, a row a part and a row an action', () => {
    const ours = apiResourceList(KINDS, 'coppice.dev', 'v1')?.resources ?? [];
    const exec = ours.find((r) => r.name === 'vms/exec');
    assert.deepEqual([exec?.kind, exec?.namespaced, exec?.verbs], ['VM', true, ['create', 'get']]);
    const core = apiResourceList(KINDS, '', 'v1');
    assert.equal(core?.groupVersion, 'v1');
    assert.deepEqual(
      core?.resources.map((r) => r.name),
      [
        'namespaces',
        'namespaces/status',
        'namespaces/finalize',
        'configmaps',
        'secrets',
        'serviceaccounts',
        'serviceaccounts/token',
        'services',
        'events',
      ],
    );
    assert.deepEqual(core?.resources[2]?.verbs, ['update']);
    const token = core?.resources.find((r) => r.name === 'serviceaccounts/token');
    assert.deepEqual([token?.group, token?.version, token?.kind], ['authentication.k8s.io', 'v1', 'TokenRequest']);
    assert.deepEqual(token?.verbs, ['create']);
  });

  it('lists the verbs of built-in kinds by name, those that are served', () => {
    const [namespaces] = apiResourceList(KINDS, '', 'v1')?.resources ?? [];
    assert.deepEqual(namespaces?.verbs, ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']);
  });
});
