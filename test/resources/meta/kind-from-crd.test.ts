import assert from 'node:assert/strict';
import { kindFromCRD } from '../../../resources/meta/kind-from-crd.ts';
import { Gadget, Widget } from '../../apiserver/admission/widget.ts';

describe('the kind of a CustomResourceDefinition', () => {
  it('has the names, scope and subresources of the CRD', () => {
    const { group, version, kind, plural, singular, listKind, shortNames, categories, namespaced, status, origin } =
      Widget;
    assert.deepEqual(
      { group, version, kind, plural, singular, listKind, shortNames, categories, namespaced, status, origin },
      {
        group: 'demo.example.com',
        version: 'v1',
        kind: 'Widget',
        plural: 'widgets',
        singular: 'widget',
        listKind: 'WidgetList',
        shortNames: ['wg'],
        categories: ['demo'],
        namespaced: true,
        status: true,
        origin: 'user',
      },
    );
    assert.equal(Widget.scale?.specReplicasPath, '.spec.replicas');
    assert.deepEqual([Gadget.namespaced, Gadget.status, Gadget.scale], [false, false, undefined]);
  });

  it('has exactly the columns the CRD lists, or Age alone', () => {
    assert.deepEqual(
      Widget.columns.map((column) => column.name),
      ['Size', 'Replicas', 'Phase', 'Owner', 'Age'],
    );
    assert.deepEqual(
      Gadget.columns.map((column) => column.name),
      ['Age'],
    );
  });

  it('leaves apiVersion, kind and metadata out of the schema', () => {
    const made = kindFromCRD({
      spec: {
        group: 'a.example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                required: ['metadata', 'spec'],
                properties: {
                  apiVersion: { type: 'string' },
                  kind: { type: 'string' },
                  metadata: { type: 'object' },
                  spec: { type: 'object' },
                },
              },
            },
            selectableFields: [{ jsonPath: '.spec.color' }],
          },
        ],
      },
    });
    assert.deepEqual(made.schema, { type: 'object', required: ['spec'], properties: { spec: { type: 'object' } } });
    assert.deepEqual(made.selectableFields, ['spec.color']);
    assert.deepEqual([made.singular, made.listKind], ['thing', 'ThingList']);
  });
});
