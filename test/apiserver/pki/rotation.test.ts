import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenHash } from '../../../apiserver/auth/bearer-tokens.ts';
import { serverKeysIn } from '../../../apiserver/pki/keep-keys.ts';
import { openPki } from '../../../apiserver/pki/pki-files.ts';
import {
  addNext,
  dropOld,
  keysOf,
  phaseOf,
  type Successive,
  useNext,
  writeOperatorToken,
} from '../../../apiserver/pki/rotation.ts';
import { ManualClock } from '../../../resources/ambient/manual-clock.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const SUCCESSIVE: readonly Successive[] = ['ca', 'service-account-key', 'sealing-key'];

describe('changing the keys of a folder', () => {
  let path: string;
  let clock: ManualClock;
  const folder = () => ({ path, clock, ids: systemIds });
  const open = () => openPki(path, ['localhost'], clock, systemIds);
  const texts = (what: Successive) => keysOf({ path }, what).map(({ text }) => text);
  const contents = () => new Map(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));
  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), 'coppice-rotation-'));
    clock = new ManualClock();
    const pki = await open();
    await pki.serverLeaf();
    pki.operator(undefined);
    serverKeysIn(pki);
  });
  afterEach(() => rmSync(path, { recursive: true, force: true }));

  for (const what of SUCCESSIVE) {
    it(`${what}: the next is trusted, then used, then alone`, async () => {
      const [old] = texts(what);
      assert.equal(phaseOf(folder(), what), 'settled');
      await addNext(folder(), what);
      assert.equal(phaseOf(folder(), what), 'trusted');
      const [first, next] = texts(what);
      assert.deepEqual([first, texts(what).length], [old, 2]);
      useNext(folder(), what);
      useNext(folder(), what);
      assert.equal(phaseOf(folder(), what), 'switched');
      assert.deepEqual(texts(what), [next, old]);
      dropOld(folder(), what);
      dropOld(folder(), what);
      assert.equal(phaseOf(folder(), what), 'settled');
      assert.deepEqual(texts(what), [next]);
      for (const name of readdirSync(path)) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600, name);
    });

    it(`${what}: whichever write is the last before a crash, the folder opens and the change goes on`, async () => {
      const [old] = texts(what);
      const steps = [
        () => addNext(folder(), what),
        async () => useNext(folder(), what),
        async () => dropOld(folder(), what),
      ];
      for (const step of steps) {
        const before = contents();
        await step();
        const after = contents();
        const changed = [...after].filter(([name, text]) => before.get(name) !== text).map(([name]) => name);
        // Every part of the step in the order it was written: the key of an authority goes first in, and last out.
        const inOrder = changed.sort((a, b) => (step === steps[2] ? 1 : -1) * (a < b ? -1 : 1));
        for (let done = 0; done < inOrder.length; done++) {
          for (const [name, text] of before) writeFileSync(join(path, name), text);
          for (const name of inOrder.slice(0, done)) writeFileSync(join(path, name), after.get(name) ?? '');
          const pki = await open();
          serverKeysIn(pki);
          assert.ok(pki.isCurrent(await pki.serverLeaf()));
          if (step === steps[2]) assert.notEqual(texts(what)[0], old);
        }
        for (const [name, text] of before) writeFileSync(join(path, name), text);
        for (const name of inOrder) writeFileSync(join(path, name), after.get(name) ?? '');
      }
      assert.equal(phaseOf(folder(), what), 'settled');
    });
  }

  it('ca: leaves are made anew once another issues, and each has a name and key of its own', async () => {
    const pki = await open();
    const leaf = await pki.serverLeaf();
    await addNext(folder(), 'ca');
    pki.refresh();
    assert.deepEqual(await pki.serverLeaf(), leaf);
    const [first, second] = pki.caCert.split(/(?=-----BEGIN)/).map((pem) => new X509Certificate(pem));
    assert.notEqual(first?.subject, second?.subject);
    useNext(folder(), 'ca');
    pki.refresh();
    assert.ok(!pki.isCurrent(leaf));
    const renewed = new X509Certificate((await pki.serverLeaf()).cert);
    assert.ok(second !== undefined && renewed.verify(second.publicKey));
    const { cert } = await pki.issueClient({ commonName: 'x', organizations: [] });
    assert.ok(second !== undefined && new X509Certificate(cert).verify(second.publicKey));
    dropOld(folder(), 'ca');
    await addNext(folder(), 'ca');
    const names = keysOf(folder(), 'ca').map(({ text }) => new X509Certificate(text).subject);
    assert.deepEqual(names, ['CN=coppice-ca-2', 'CN=coppice-ca-3']);
  });

  it('ca: a folder with one of the two files, or with the keys of another, is named and not opened', async () => {
    const keep = join(path, 'kept');
    for (const [name, told] of [
      ['ca.crt', /ca\.crt is missing, and ca\.key is there$/],
      ['ca.key', /ca\.key is missing, and ca\.crt is there$/],
    ] as const) {
      copyFileSync(join(path, name), keep);
      rmSync(join(path, name));
      await assert.rejects(open(), { name: 'BadKeyFileError', message: told });
      copyFileSync(keep, join(path, name));
      rmSync(keep);
    }
    const pki = await open();
    const [before, oldKeys] = [pki.caCert, readFileSync(join(path, 'ca.key'), 'utf8')];
    await addNext(folder(), 'ca');
    useNext(folder(), 'ca');
    writeFileSync(join(path, 'ca.key'), oldKeys);
    assert.throws(() => pki.refresh(), {
      name: 'BadKeyFileError',
      message: /ca\.key is not the key of ca\.crt beside it$/,
    });
    assert.equal(pki.caCert, before, 'the running server goes on with what it had');
    await assert.rejects(open(), { name: 'BadKeyFileError' });
  });

  it('operator-token: the new one is the only one, or the old one has an end', async () => {
    const pki = await open();
    const first = pki.operator(undefined);
    writeOperatorToken(folder(), 'second', clock.now() + 60_000);
    assert.deepEqual(pki.operatorTokens(), [
      { hash: tokenHash('second') },
      { hash: first.hash, untilMs: clock.now() + 60_000 },
    ]);
    assert.equal(pki.operator(first.token).token, first.token);
    assert.equal(pki.operator('second').token, 'second');
    await clock.advance(60_000);
    assert.notEqual(pki.operator(first.token).token, first.token);
    writeOperatorToken(folder(), 'third', undefined);
    assert.deepEqual(pki.operatorTokens(), [{ hash: tokenHash('third') }]);
  });

  it('operator-token: is not made anew where another home has it', async () => {
    const { hash } = (await open()).operator(undefined);
    writeFileSync(join(path, 'operator-token.sha256'), `# elsewhere\n${hash}\n`);
    assert.deepEqual((await open()).operator(undefined), { token: undefined, hash });
  });
});
