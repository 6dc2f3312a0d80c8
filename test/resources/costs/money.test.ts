import assert from 'node:assert/strict';
import fc from 'fast-check';
import { divided, exactMoney, forTime, hourMoney, parseMicros, roughMoney } from '../../../resources/costs/money.ts';

describe('money', () => {
  const table: readonly [text: string | undefined, micros: bigint, exact: string, rough: string][] = [
    [undefined, 0n, '0', '0.00'],
    ['0', 0n, '0', '0.00'],
    ['0.85', 850_000n, '0.85', '0.85'],
    ['1.950000', 1_950_000n, '1.95', '1.95'],
    ['12', 12_000_000n, '12', '12.00'],
    ['0.000001', 1n, '0.000001', '0.000001'],
    ['0.00014', 140n, '0.00014', '0.00014'],
    ['0.005', 5_000n, '0.005', '0.005'],
    ['0.014999', 14_999n, '0.014999', '0.01'],
    ['0.015', 15_000n, '0.015', '0.02'],
    ['999999999.999999', 999_999_999_999_999n, '999999999.999999', '1000000000.00'],
  ];
  for (const [text, micros, exact, rough] of table) {
    it(`reads ${text} as ${micros} millionths, and tells it as ${exact} and ${rough}`, () => {
      assert.equal(parseMicros(text), micros);
      assert.equal(exactMoney(micros), exact);
      assert.equal(roughMoney(micros), rough);
      if (micros > 0n) assert.deepEqual([exactMoney(-micros), roughMoney(-micros)], [`-${exact}`, `-${rough}`]);
    });
  }

  for (const text of ['', '-1', '1.', '.5', '1e3', '0.1234567', '1,5'])
    it(`refuses "${text}"`, () => assert.throws(() => parseMicros(text), RangeError));

  it('is read back from what it is told as', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 999_999_999_999_999n }),
        (micros) => parseMicros(exactMoney(micros)) === micros,
      ),
    );
  });

  it('is told to people no more than half a hundredth off', () => {
    const hundredths = fc
      .bigInt({ min: -(10n ** 15n), max: 10n ** 15n })
      .filter((micros) => micros >= 10_000n || micros <= -10_000n);
    fc.assert(
      fc.property(hundredths, (micros) => {
        const [whole = '', cents = ''] = roughMoney(micros < 0n ? -micros : micros).split('.');
        const told = (BigInt(whole) * 100n + BigInt(cents)) * 10_000n;
        const off = told - (micros < 0n ? -micros : micros);
        return off <= 5_000n && off >= -5_000n;
      }),
    );
  });

  const hours: readonly [bigint, string][] = [
    [0n, '0.00'],
    [1_153_571n, '1.1536'],
    [-1_153_571n, '-1.1536'],
    [850_000n, '0.85'],
    [999_960n, '1.00'],
    [5_000n, '0.005'],
    [14n, '0.000014'],
  ];
  for (const [micros, text] of hours)
    it(`of an hour is told as ${text}, so that a day can be checked by it`, () =>
      assert.equal(hourMoney(micros), text));

  it('of a time is that of the hours in it', () => {
    assert.equal(forTime(850_000n, 24 * 3_600_000), 20_400_000n);
    assert.equal(forTime(1n, 1_800_000), 1n, 'half a millionth counts');
    assert.equal(forTime(1n, 1_799_999), 0n);
    assert.equal(divided(-3n, 2n), -2n);
    assert.equal(divided(3n, 2n), 2n);
  });
});
