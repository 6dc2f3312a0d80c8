import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatBytes, parseBytes } from '../../../resources/meta/quantity.ts';

const EXPONENTS = { '': 0n, k: 3n, M: 6n, G: 9n, T: 12n, P: 15n, Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n } as const;
type Suffix = keyof typeof EXPONENTS;

/** Counted in whole numbers of any size. */
function exactly(digits: bigint, suffix: Suffix): number | undefined {
  const bytes = digits * (suffix.endsWith('i') ? 2n : 10n) ** EXPONENTS[suffix];
  return bytes > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(bytes);
}

describe('quantities of bytes', () => {
  it('are exact up to the last that a number holds, and beyond it none', () => {
    const suffixes = Object.keys(EXPONENTS) as Suffix[];
    const near = (suffix: Suffix) => {
      const unit = (suffix.endsWith('i') ? 2n : 10n) ** EXPONENTS[suffix];
      const last = BigInt(Number.MAX_SAFE_INTEGER) / unit;
      return fc.oneof(fc.bigInt(0n, 10n ** 18n - 1n), fc.bigInt(last - (last < 3n ? last : 3n), last + 3n));
    };
    const quantities = fc.constantFrom(...suffixes).chain((suffix) => fc.tuple(near(suffix), fc.constant(suffix)));
    fc.assert(
      fc.property(quantities, ([digits, suffix]) => {
        assert.equal(parseBytes(`${digits}${suffix}`), exactly(digits, suffix));
      }),
      { numRuns: 2_000 },
    );
  });

  it('are nothing else', () => {
    for (const text of ['', 'Gi', '1.5Gi', '-1', '1e3', '1gi', '1Ei', ' 1', '1234567890123456789'])
      assert.equal(parseBytes(text), undefined, text);
  });

  it('are written so that they are read as they were, in the largest unit that is exact', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => assert.equal(parseBytes(formatBytes(bytes)), bytes)));
    assert.deepEqual([0, 1000, 1024, 128 * 1024 ** 2, 3 * 1024 ** 5].map(formatBytes), [
      '0',
      '1000',
      '1Ki',
      '128Mi',
      '3Pi',
    ]);
  });
});
