import assert from 'node:assert/strict';
import { controllersOptions } from '../../../../cli/serve/controllers/options.ts';
import { DUTY_NAMES } from '../../../../controllers/duties.ts';

const FLAGS: Parameters<typeof controllersOptions>[0] = {
  kubeconfig: undefined,
  context: undefined,
  server: undefined,
  only: undefined,
  home: '/h',
  homeFrom: 'default',
  healthPort: undefined,
};

describe('the options of coppice controllers', () => {
  it('are all duties and the server of the kubeconfig, unless told otherwise', () => {
    const { only, servers } = controllersOptions(FLAGS);
    assert.deepEqual([only, servers], [undefined, []]);
    const given = controllersOptions({
      ...FLAGS,
      only: 'garbage, tenant',
      server: ['https://a:1', 'https://[::1]:2/'],
    });
    assert.deepEqual(
      [given.only, given.servers],
      [
        ['tenant', 'garbage'],
        ['https://a:1', 'https://[::1]:2/'],
      ],
    );
  });

  it('name the duties there are to whoever names one there is not', () => {
    for (const only of ['', 'foo', 'tenant,', 'tenant,foo'])
      assert.throws(() => controllersOptions({ ...FLAGS, only }), {
        name: 'Failure',
        hint: `the duties are ${DUTY_NAMES.join(', ')}`,
      });
  });

  it('take servers by https only, without a path', () => {
    for (const url of ['http://a:1', 'a:1', 'https://', 'https://a:1/path', 'https://u@a:1', 'https://a b:1'])
      assert.throws(() => controllersOptions({ ...FLAGS, server: [url] }), /--server "/, url);
  });
});
