import assert from 'node:assert/strict';
import fc from 'fast-check';
import { hasReason, mergePatchOf, writeStatus } from '../../../controllers/runtime/write.ts';
import { Tenant } from '../../../resources/kinds/tenant.ts';
import { isObject, type JsonObject, jsonEqual } from '../../../resources/meta/object.ts';
import { Fleet } from '../../harness/fleet.ts';

const never = new AbortController().signal;

/** RFC 7386, as the RFC says it. */
function applied(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: JsonObject = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete out[name];
    else out[name] = applied(out[name], value);
  }
  return out;
}

const json = fc.letrec<{ value: unknown; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    fc.integer({ max: 3, min: 0 }),
    fc.constantFrom('a', 'b'),
    fc.array(fc.integer({ max: 2 }), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('x', 'y', 'z'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
})).object;

describe('a merge patch', () => {
  it('leads from one object to the other, and there is none between equals', async () => {
    const leads = fc.property(json, json, (from, to) => {
      const patch = mergePatchOf(from, to, 'whole');
      assert.equal(patch === undefined, jsonEqual(from, to));
      assert.deepEqual(applied(from, patch ?? {}), JSON.parse(JSON.stringify(to)));
    });
    await fc.assert(leads);
  });

  it('leaves alone what is not named, and removes what is named and undefined', () => {
    assert.deepEqual(mergePatchOf({ a: 1, b: 2, c: 3 }, { a: undefined, c: 3 }, 'named'), { a: null });
  });
});

describe('writing a status', () => {
  it('sends nothing when nothing changes, refuses an old version, and takes a gone object for done', async () => {
    await using fleet = await Fleet.start();
    const tenants = fleet.resource<Tenant>(Tenant);
    const first = await fleet.addTenant();
    const second = (await writeStatus(tenants, first, { networkIndex: 3 }, never)) ?? assert.fail();
    assert.equal(second.status?.networkIndex, 3);
    assert.equal(await writeStatus(tenants, second, { networkIndex: 3 }, never), second);
    await assert.rejects(writeStatus(tenants, first, { networkIndex: 4 }, never), (error) =>
      hasReason(error, 'Conflict'),
    );
    const third =
      (await writeStatus(tenants, second, { networkIndex: undefined, namespace: 'red' }, never)) ?? assert.fail();
    assert.deepEqual(third.status, { namespace: 'red' });
    await tenants.delete('red');
    await tenants.patch('red', { metadata: { finalizers: [] } });
    assert.equal(await writeStatus(tenants, third, { networkIndex: 5 }, never), undefined);
  });
});
