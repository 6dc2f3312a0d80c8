import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Sealer } from '../../../apiserver/sealing/sealer.ts';
import { UnsealError } from '../../../apiserver/sealing/unseal-error.ts';

const [ONE, TWO] = ['1a'.repeat(32), '2b'.repeat(32)];
const bytes = (text: string) => new TextEncoder().encode(text);

describe('the sealer', () => {
  it('opens what it sealed, and shows nothing of it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.string(), (plain, uid) => {
        const sealer = new Sealer([ONE]);
        const sealed = sealer.seal(plain, 'here', uid);
        assert.ok(Sealer.isSealed(sealed));
        assert.deepEqual(Buffer.from(sealer.open(sealed, 'here')), Buffer.from(plain));
        if (plain.length >= 8) assert.equal(Buffer.from(sealed).indexOf(plain), -1);
      }),
    );
  });

  it('never seals the same twice alike', () => {
    const sealer = new Sealer([ONE]);
    const seal = () => Buffer.from(sealer.seal(bytes('same'), 'here', 'u')).toString('hex');
    assert.notEqual(seal(), seal());
  });

  it('refuses a value with any byte changed, cut off, or in another place', () => {
    const sealer = new Sealer([ONE]);
    const sealed = sealer.seal(bytes('plain text'), 'here', 'uid-1');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed, (byte, i) => (i === at ? byte ^ 1 : byte));
      assert.throws(() => sealer.open(changed, 'here'), UnsealError, `byte ${at}`);
      assert.throws(() => sealer.open(sealed.subarray(0, at), 'here'), UnsealError, `cut at ${at}`);
    }
    assert.throws(() => sealer.open(sealed, 'there'), UnsealError);
    assert.equal(Buffer.from(sealer.open(sealed, 'here')).toString(), 'plain text');
  });

  it('opens with older keys, seals with the first, and knows which are missing', () => {
    const old = new Sealer([ONE]).seal(bytes('a'), 'here', 'u');
    const rotated = new Sealer([TWO, ONE]);
    assert.equal(Buffer.from(rotated.open(old, 'here')).toString(), 'a');
    const fresh = rotated.seal(bytes('b'), 'here', 'u');
    const behind = new Sealer([ONE]);
    assert.throws(() => behind.open(fresh, 'here'), /sealed with key [0-9a-f]{16}, which this server has not/);
    assert.deepEqual(behind.missingKeys.length, 1);
    assert.deepEqual(rotated.missingKeys, []);
  });

  it('takes keys of 32 bytes only', () => {
    for (const keys of [[], ['ab'], ['zz'.repeat(32)], [ONE, '']]) assert.throws(() => new Sealer(keys));
  });
});
