import assert from 'node:assert/strict';
import { UnreachableError } from '../../../../apiserver/client/unreachable-error.ts';
import { OutageTeller } from '../../../../cli/serve/controllers/outage-teller.ts';
import { NoAnswerError } from '../../../../resources/ambient/with-deadline.ts';

const refused = new UnreachableError('refused', 'https://a', 'nothing listens at https://a', { sent: false });
const broken = new UnreachableError('broken', 'https://a', 'it broke', { sent: true });
const late = new NoAnswerError(800);

describe('controllers that lose their server', () => {
  for (const [name, outcomes, said] of [
    [
      'say once what cannot be reached, and that it is back',
      [undefined, refused, refused, late, undefined, undefined],
      ['cannot reach https://a: nothing listens there', 'reaches https://a again'],
    ],
    ['say it of each outage', [refused, undefined, refused], 3],
    [
      'say nothing of a connection that broke, nor of late answers between others',
      [broken, late, late, undefined, late],
      0,
    ],
    ['say when answers stay away', [late, late, late, late], ['cannot reach https://a: no answer']],
  ] as const) {
    it(name, async () => {
      const lines: string[] = [];
      const left = [...outcomes];
      const send = new OutageTeller((line) => lines.push(line)).listening(
        async () => {
          const outcome = left.shift();
          if (outcome !== undefined) throw outcome;
          return { status: 200, headers: {}, body: (async function* () {})() };
        },
        () => 'https://a',
      );
      for (const _ of outcomes) await send({ method: 'GET', path: '/' }).catch(() => {});
      if (typeof said === 'number') assert.equal(lines.length, said);
      else assert.deepEqual(lines, said);
    });
  }
});
