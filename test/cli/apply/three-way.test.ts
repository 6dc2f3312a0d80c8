import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { threeWayPatch } from '../../../cli/apply/three-way.ts';
import { lastApplied, withLastApplied } from '../../../resources/meta/last-applied.ts';
import { isObject, type JsonObject } from '../../../resources/meta/object.ts';

const recorded: { cases: Record<string, { current: JsonObject; wanted: JsonObject; patch: JsonObject }> } = JSON.parse(
  readFileSync(new URL('kubectl-patches.json', import.meta.url), 'utf8'),
);

/** RFC 7396, as its appendix writes it. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: JsonObject = isObject(target) ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete out[field];
    else out[field] = mergePatch(out[field], value);
  }
  return out;
}

describe('the three-way patch', () => {
  for (const [name, { current, wanted, patch }] of Object.entries(recorded.cases)) {
    it(`is the one kubectl sends: ${name}`, () => {
      assert.deepEqual(threeWayPatch(lastApplied(current) ?? {}, withLastApplied(wanted), current), patch);
    });
  }

  const field = fc.constantFrom('a', 'b', 'c');
  const { tree } = fc.letrec<{ tree: JsonObject; value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.integer({ min: 0, max: 2 }),
      fc.array(fc.integer({ min: 0, max: 1 }), { maxLength: 2 }),
      tie('tree'),
    ),
    tree: fc.dictionary(field, tie('value'), { maxKeys: 3 }),
  }));

  it('applied once leaves nothing more to do', () => {
    fc.assert(
      fc.property(tree, tree, tree, (before, wanted, current) => {
        const after = mergePatch(current, threeWayPatch(before, wanted, current));
        assert(isObject(after));
        assert.deepEqual(threeWayPatch(wanted, wanted, after), {});
      }),
    );
  });

  it('leaves alone what neither file ever said', () => {
    fc.assert(
      fc.property(tree, tree, tree, (before, wanted, current) => {
        const after = mergePatch({ ...current, theirs: 1 }, threeWayPatch(before, wanted, { ...current, theirs: 1 }));
        assert(isObject(after));
        assert.equal(after.theirs, 1);
      }),
    );
  });
});
