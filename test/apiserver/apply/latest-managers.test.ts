import assert from 'node:assert/strict';
import { storedManagers, writeManagers } from '../../../apiserver/apply/managed-fields.ts';
import type { ManagedFieldsEntry } from '../../../resources/meta/object.ts';

const record = (i: number): readonly ManagedFieldsEntry[] => [
  {
    manager: `m${i}`,
    operation: 'Update',
    apiVersion: 'demo.example.com/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { '.': {}, [`f:x${i}`]: {} } },
  },
];

describe('the managers of a record', () => {
  it('are read once while it is one of the latest, then anew, and are the same', () => {
    const first = record(0);
    const managers = storedManagers(first);
    for (let i = 1; i < 8_000; i++) storedManagers(record(i));
    assert.equal(storedManagers(first), managers);
    for (let i = 1; i < 9_000; i++) storedManagers(record(i));
    assert.notEqual(storedManagers(first), managers, 'the sets of every object are kept');
    assert.deepEqual(storedManagers(first), managers);
  });

  it('are fewer of records that have many owners, and of such that have none not endless', () => {
    const many = (i: number) =>
      Array.from({ length: 7 }, (_, owner) => record(10 * i + owner)[0] as ManagedFieldsEntry);
    const kept = many(0);
    const managers = storedManagers(kept);
    for (let i = 1; i < 2_000; i++) storedManagers(many(i));
    assert.equal(storedManagers(kept), managers);
    for (let i = 1; i < 2_100; i++) storedManagers(many(i));
    const anew = storedManagers(kept);
    assert.notEqual(anew, managers);
    for (let i = 0; i < 17_000; i++) storedManagers([]);
    assert.notEqual(storedManagers(kept), anew);
  });

  it('are not read where they were just written, and write again what they were read from', () => {
    const managers = storedManagers(record(0));
    const written = writeManagers(managers) ?? [];
    assert.deepEqual(written, record(0));
    assert.deepEqual(storedManagers(written), managers);
    assert.equal(storedManagers(written), storedManagers(written));
    for (let i = 1; i < 9_000; i++) storedManagers(record(i));
    const [entry] = written;
    assert.equal(writeManagers(storedManagers(written))?.[0], entry);
  });
});
