import assert from 'node:assert/strict';
import { OPERATOR } from '../../../apiserver/auth/identity.ts';
import { subresourcesOf } from '../../../apiserver/discovery/verbs.ts';
import { BUILT_IN_KINDS } from '../../../resources/kinds.ts';
import { apiVersionOf } from '../../../resources/meta/resource-id.ts';
import { send } from '../../harness/raw.ts';
import { startTestServer } from '../../harness/server.ts';

describe('questions', () => {
  it('have each somebody who answers, and leave nothing behind', async () => {
    await using test = await startTestServer();
    const { revision } = test.server.parts.cache;
    let asked = 0;
    for (const kind of BUILT_IN_KINDS) {
      const root = kind.group === '' ? '/api/v1' : `/apis/${apiVersionOf(kind)}`;
      const base = `${root}${kind.namespaced ? '/namespaces/default' : ''}/${kind.plural}`;
      const urls = [...(kind.stored ? [] : [base]), ...kind.actions.map(({ name }) => `${base}/none/${name}`)];
      for (const url of urls) {
        asked++;
        const { status, body } = await send(test.server.app, 'POST', url, { body: {}, identity: OPERATOR });
        const unanswered = body.message === 'the server could not find the requested resource';
        assert.ok(status < 500 && !unanswered, `${url} ${status} ${body.message}`);
      }
      if (!kind.stored) assert.deepEqual([kind.verbs, subresourcesOf(kind)], [['create'], []]);
    }
    assert.ok(asked >= 7);
    const kept = test.server.parts.cache;
    assert.ok(!BUILT_IN_KINDS.some((kind) => !kind.stored && [...kept.world.list(kind)].length > 0));
    assert.ok(revision > 0);
  });
});
