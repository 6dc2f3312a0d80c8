import assert from 'node:assert/strict';
import { EtcdCallError } from '../../../apiserver/store/etcd/call-error.ts';
import { readError, writeError } from '../../../apiserver/store/etcd/store-error.ts';
import { StoreError } from '../../../apiserver/store/store.ts';

const REFUSED =
  '14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:23793. Resolution note: ';

describe('what clients are told of an etcd that is away', () => {
  for (const [message, words] of [
    [REFUSED, 'etcd does not answer: connection refused'],
    ['no connection to etcd: connect ECONNREFUSED 10.0.0.7:2379', 'etcd does not answer: connection refused'],
    [
      '4 DEADLINE_EXCEEDED: Deadline exceeded after 5.001s,remote_addr=10.0.0.7',
      'etcd does not answer: no answer in time',
    ],
    ['etcd did not take the call within ten seconds', 'etcd does not answer: no answer in time'],
    ['14 UNAVAILABLE: read ECONNRESET', 'etcd does not answer: the connection broke'],
    ['14 UNAVAILABLE: etcdserver: no leader', 'etcd does not answer: it has no leader'],
    ['7 PERMISSION_DENIED: etcdserver: permission denied', 'etcd does not answer: permission denied'],
    ['13 INTERNAL: something at 10.0.0.7', 'etcd does not answer'],
  ] as const) {
    it(`${words}, for ${message.slice(0, 40)}`, () => {
      const cause = new EtcdCallError('NotSent', message);
      const told = readError(cause);
      assert.ok(told instanceof StoreError);
      assert.equal(told.message, words);
      assert.equal(told.cause, cause);
    });
  }

  it('is as plain of a write whose end is not known', () => {
    const told = writeError(new EtcdCallError('Unclear', '14 UNAVAILABLE: read ECONNRESET 10.0.0.7:2379'));
    assert.ok(told instanceof StoreError);
    assert.equal(told.message, 'etcd did not answer the write: the connection broke');
  });
});
