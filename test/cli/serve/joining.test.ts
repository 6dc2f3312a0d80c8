import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import { systemClock } from '../../../resources/ambient/system-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';
import { type KeysServer, KeysWorld } from './keys-world.ts';

describe('joining', function () {
  this.timeout(180_000);
  let world: KeysWorld;
  let server: KeysServer;
  before(async () => {
    world = await KeysWorld.make();
    server = await world.serve('a');
  });
  after(() => world[Symbol.asyncDispose]());

  const token = async () =>
    (await world.runBare('apiserver', 'token', '--kubeconfig', server.home.kubeconfig)).stdout.trim();

  it('shows its token to no server that is not of the fleet', async () => {
    await using other = await world.serve('other');
    const line = await token();
    const wrong = await world.run('new', `apiserver join ${line} --server ${other.url}`);
    assert.match(
      wrong.stderr,
      /^error: the server at https:\/\/127\.0\.0\.1:\d+ is not of the fleet that the token is of\nhint: /,
    );
    assert.equal((await world.run('new', `apiserver join ${line}`)).code, 0, 'it is still good');
  });

  it('writes all of the folder or nothing, and over nothing', async () => {
    const line = await token();
    const full = await world.run('a', `apiserver join ${line}`);
    assert.match(full.stderr, /pki has keys already\nhint: /);
    const joined = await world.run('second', `apiserver join ${line}`);
    assert.match(joined.stdout, /^wrote the keys of the fleet into .*second\/pki\nstart the server/);
    const folder = world.path('second', 'pki');
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of ['ca.crt', 'ca.key', 'sealing.key', 'service-account.key', 'operator-token.sha256'])
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    const pki = await openPki(folder, ['localhost'], systemClock, systemIds);
    assert.deepEqual(pki.sealingKeys(), server.pki.sealingKeys());
    const used = await world.run('third', `apiserver join ${line}`);
    assert.match(used.stderr, /^error: the join token is not good: it was used at 20/);
    assert.throws(() => statSync(world.path('third', 'pki')), { code: 'ENOENT' });
    assert.ok(![...server.logged, used.stderr, joined.stdout].join('\n').includes(line.split('.')[1] ?? ''));
  });

  it('brings a folder up to date, and only one of the same fleet', async () => {
    assert.equal((await world.run('kept', `apiserver join ${await token()}`)).code, 0);
    assert.equal((await world.run('a', 'pki rotate sealing-key --trust-only')).code, 0);
    const again = await world.run('kept', `apiserver join ${await token()} --again`);
    assert.match(again.stdout, /^wrote the keys of the fleet that changed into .*kept\/pki\n$/, again.stderr);
    const pki = await openPki(world.path('kept', 'pki'), ['localhost'], systemClock, systemIds);
    assert.deepEqual(pki.sealingKeys(), server.pki.sealingKeys());
    assert.equal(pki.sealingKeys().length, 2);
    assert.match(
      (await world.run('empty', `apiserver join ${await token()} --again`)).stderr,
      /has no keys yet\nhint: /,
    );
    await using _other = await world.serve('foreign');
    const before = readFileSync(world.path('foreign', 'pki', 'ca.key'), 'utf8');
    const foreign = await world.run('foreign', `apiserver join ${await token()} --again`);
    assert.match(foreign.stderr, /are of another fleet, or of too long ago\nhint: /);
    assert.equal(readFileSync(world.path('foreign', 'pki', 'ca.key'), 'utf8'), before);
  });

  it('says what is wrong with what it is given', async () => {
    for (const [line, told] of [
      ['apiserver join', /give the token that coppice apiserver token printed/],
      ['apiserver join nonsense', /give the token that coppice apiserver token printed/],
      [
        `apiserver join ${await token()} --server http://127.0.0.1:1`,
        /--server is "http:\/\/127\.0\.0\.1:1", which is not https/,
      ],
      [`apiserver join ${await token()} --server https://127.0.0.1:1`, /nothing listens at https:\/\/127\.0\.0\.1:1/],
    ] as const) {
      const { code, stderr } = await world.run('fourth', line);
      assert.equal(code, 1, line);
      assert.match(stderr, told);
    }
  });
});
