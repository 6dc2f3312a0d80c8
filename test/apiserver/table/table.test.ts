import assert from 'node:assert/strict';
import { partialMetadata, partialMetadataList } from '../../../apiserver/table/partial-metadata.ts';
import { rowOf, tableOf } from '../../../apiserver/table/table.ts';
import { Event } from '../../../resources/kinds/event.ts';
import { Namespace } from '../../../resources/kinds/namespace.ts';
import { VM } from '../../../resources/kinds/vm.ts';
import { type Column, defineKind, type Kind } from '../../../resources/meta/define-kind.ts';
import { aWidget, GADGET, WIDGET } from '../../builders/widget.ts';

/** Five minutes after the builder's objects were created. */
const nowMs = Date.parse('2030-01-01T00:05:00Z');
const listMeta = { resourceVersion: '42' };
const names = (kind: Kind) => tableOf(kind, [], { nowMs, listMeta }).columnDefinitions?.map((c) => c.name);

function cellsOf(column: Omit<Column, 'name' | 'jsonPath'>, value: unknown, origin: Kind['origin'] = 'user') {
  const kind = defineKind({ ...GADGET, origin, columns: [{ name: 'X', jsonPath: '.spec.x', ...column }] });
  return rowOf(kind, aWidget({ spec: { x: value } }), { nowMs }).cells[1];
}

describe('tables', () => {
  it("print a user's kind with exactly its columns, as recorded", () => {
    const table = tableOf(WIDGET, [aWidget(), aWidget({ name: 'w2', spec: { size: 'medium' } })], { nowMs, listMeta });
    assert.deepEqual(names(WIDGET), ['Name', 'Size', 'Replicas', 'Phase', 'Owner', 'Age']);
    assert.deepEqual(
      table.rows.map((row) => row.cells),
      [
        ['w1', 'small', 1, null, null, '5m'],
        ['w2', 'medium', null, null, null, '5m'],
      ],
    );
    assert.deepEqual([table.kind, table.apiVersion, table.metadata], ['Table', 'meta.k8s.io/v1', listMeta]);
  });

  it('describe each column, Name in a format of its own', () => {
    const definitions = tableOf(WIDGET, [], { nowMs, listMeta }).columnDefinitions ?? [];
    assert.deepEqual([definitions[0]?.type, definitions[0]?.format, definitions[0]?.priority], ['string', 'name', 0]);
    assert.deepEqual(definitions[1], {
      name: 'Size',
      type: 'string',
      format: '',
      description: 'How large the widget is',
      priority: 0,
    });
    assert.equal(definitions[4]?.priority, 1);
    assert.ok(definitions.every((one) => one.description !== ''));
  });

  it('give kinds without columns Name and Age, and end ours and built-in ones with Age', () => {
    assert.deepEqual(names(GADGET), ['Name', 'Age']);
    assert.deepEqual(names(Namespace), ['Name', 'Status', 'Age']);
    assert.deepEqual(names(VM)?.slice(0, 3), ['Name', 'Phase', 'Ready']);
    assert.equal(names(VM)?.at(-1), 'Age');
    const bare = defineKind({ ...GADGET, columns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }] });
    assert.deepEqual(names(bare), ['Name', 'Text']);
  });

  const cases: readonly [type: Column['type'], value: unknown, cell: unknown][] = [
    ['string', 'small', 'small'],
    ['string', '', ''],
    ['string', 4, '4'],
    ['string', true, 'true'],
    ['string', 9007199254740993n, '9007199254740993'],
    ['string', { b: [1, 'two'], a: null }, '{"a":null,"b":[1,"two"]}'],
    ['string', undefined, null],
    ['string', null, null],
    ['integer', 3, 3],
    ['integer', 3.9, 3],
    ['integer', 9007199254740993n, 9007199254740993n],
    ['integer', '3', null],
    ['number', 0.5, 0.5],
    ['number', 'half', null],
    ['boolean', false, false],
    ['boolean', 'yes', null],
    ['date', '2029-12-31T23:00:00Z', '65m'],
    ['date', '2030-01-01T00:04:30.250000Z', '29s'],
    ['date', '2030-01-01T01:04:00+01:00', '60s'],
    ['date', 'yesterday', '<invalid>'],
    ['date', '2030-13-01T00:00:00Z', '<invalid>'],
    ['date', 7, null],
    ['date', undefined, null],
  ];
  for (const [type, value, cell] of cases) {
    it(`show ${typeof value === 'bigint' ? `${value}n` : JSON.stringify(value)} in a ${type} column as ${cell === null ? 'nothing' : cell}`, () => {
      assert.deepEqual(cellsOf({ type }, value), cell);
    });
  }

  it('show a date that a built-in object lacks as unknown', () => {
    assert.equal(cellsOf({ type: 'date' }, undefined, 'core'), '<unknown>');
    assert.equal(cellsOf({ type: 'date' }, null, 'core'), '<unknown>');
    const event = { ...aWidget(), kind: 'Event', involvedObject: { kind: 'VM', name: 'hello' } };
    assert.deepEqual(rowOf(Event, event, { nowMs }).cells, [
      ...['<unknown>', '', '', 'vm/hello', '', '', '', '<unknown>'],
      ...[1, 'w1'],
    ]);
  });

  it('leave a column empty whose path is none', () => {
    const kind = defineKind({ ...GADGET, columns: [{ name: 'X', type: 'string', jsonPath: 'spec' }] });
    assert.deepEqual(rowOf(kind, aWidget(), { nowMs }).cells, ['w1', null]);
  });

  it('carry metadata, the whole object, or none', () => {
    const object = aWidget();
    const [row] = tableOf(WIDGET, [object], { nowMs, listMeta }).rows;
    assert.deepEqual(row?.object, {
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: object.metadata,
    });
    assert.equal(rowOf(WIDGET, object, { nowMs, includeObject: 'Object' }).object, object);
    assert.equal('object' in rowOf(WIDGET, object, { nowMs, includeObject: 'None' }), false);
  });

  it('leave out the columns after the first event of a watch', () => {
    const table = tableOf(WIDGET, [aWidget()], { nowMs, listMeta, withColumns: false });
    assert.equal(table.columnDefinitions, null);
    assert.equal(table.rows.length, 1);
  });

  it('show the first of several values, as a Kubernetes server does', () => {
    const column = { name: 'Parts', type: 'string', jsonPath: '.spec.parts[*].name' } as const;
    const kind = defineKind({ ...GADGET, columns: [column] });
    const object = aWidget({ spec: { parts: [{ name: 'wheel' }, { name: 'seat' }] } });
    assert.equal(rowOf(kind, object, { nowMs }).cells[1], 'wheel');
  });
});

describe('partial object metadata', () => {
  it('is an object without its own fields', () => {
    const object = aWidget();
    assert.deepEqual(
      partialMetadataList([object], { resourceVersion: '42', continue: 'more', remainingItemCount: 3 }),
      {
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { resourceVersion: '42', continue: 'more', remainingItemCount: 3 },
        items: [{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }],
      },
    );
    assert.deepEqual(Object.keys(partialMetadata(object)), ['kind', 'apiVersion', 'metadata']);
  });
});
