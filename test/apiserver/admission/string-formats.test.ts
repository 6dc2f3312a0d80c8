import assert from 'node:assert/strict';
import { isFormat, type StringFormat } from '../../../apiserver/admission/string-formats.ts';

const EXAMPLES: Readonly<Record<StringFormat, { readonly good: readonly string[]; readonly bad: readonly string[] }>> =
  {
    byte: { good: ['', 'YWJj', 'YQ=='], bad: ['YQ', 'Y Q=', 'YQ=a', '===='] },
    date: { good: ['2024-02-29'], bad: ['2023-02-29', '2024-2-9', '2024-02-29T00:00:00Z'] },
    duration: { good: ['1h', '1h30m', '1.5s', '0', '-3ms'], bad: ['', '1', 'h', '1y', '1h 2m'] },
    ipv4: { good: ['0.0.0.0', '255.1.2.3'], bad: ['1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4 '] },
    ipv6: {
      good: ['::', '::1', 'fe80::1', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4', '1:2:3:4:5:6:7::'],
      bad: [
        '1.2.3.4',
        ':',
        '1::2::3',
        '1:2:3:4:5:6:7',
        '1:2:3:4:5:6:7:8:9',
        '1:2:3:4:5:6:7:8::',
        '12345::',
        '::1.2.3.256',
      ],
    },
    cidr: { good: ['10.0.0.0/8', 'fe80::/10'], bad: ['10.0.0.0', '10.0.0.0/33', 'fe80::/129', '10.0.0.0/08'] },
    mac: { good: ['00:1a:2B:3c:4d:5e', '00-1a-2b-3c-4d-5e'], bad: ['00:1a:2b:3c:4d', '00:1a:2b:3c:4d:5g'] },
    uuid: { good: ['123e4567-e89b-12d3-a456-426614174000'], bad: ['123e4567', '123e4567-e89b-12d3-a456-42661417400z'] },
    uri: { good: ['https://example.com/a?b#c', 'urn:a:b'], bad: ['example', '//x'] },
    email: { good: ['a@example.com'], bad: ['a', 'a@b@c', 'a b@c'] },
    hostname: { good: ['example.com', 'A-1'], bad: ['-a', 'a..b', 'a_b', `${'a'.repeat(64)}.com`] },
  };

describe('formats of strings', () => {
  for (const [format, { good, bad }] of Object.entries(EXAMPLES) as [StringFormat, (typeof EXAMPLES)[StringFormat]][]) {
    it(`${format}: takes ${good.join(', ')}, not ${bad.join(', ')}`, () => {
      assert.deepEqual(
        [...good, ...bad].filter((text) => isFormat(format, text)),
        good,
      );
    });
  }
});
