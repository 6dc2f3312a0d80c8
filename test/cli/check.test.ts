import assert from 'node:assert/strict';
import { Host } from '../../resources/kinds/host.ts';
import { aHost } from '../harness/builders.ts';
import { CliServer } from '../harness/cli-server.ts';
import { putUnguarded } from '../harness/put-unguarded.ts';
import type { CliFolder } from '../harness/run-cli.ts';
import type { TestServer } from '../harness/server.ts';
import { until } from '../harness/until.ts';

/** A status with condition ScrubPending. */
const scrubPending = (status: 'True' | 'False') => ({
  status: {
    conditions: [
      { type: 'ScrubPending', status, reason: 'Test', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ],
  },
});

describe('coppice check', function () {
  this.timeout(60_000);
  let server: TestServer;
  let folder: CliFolder;
  let started: CliServer;
  const hosts = () => server.client.resource<Host>(Host);
  const mark = (status: 'True' | 'False') => hosts().patch('mac-1', scrubPending(status), { subresource: 'status' });

  beforeEach(async () => {
    started = await CliServer.start();
    ({ server, folder } = started);
    const { apiVersion, kind, spec } = aHost();
    await hosts().create({ apiVersion, kind, metadata: { name: 'mac-1' }, spec });
  });
  afterEach(() => started[Symbol.asyncDispose]());

  it('says that all is well, once, and exits with 0', async () => {
    const { code, stdout, stderr } = await folder.run(['check', '--once']);
    assert.equal(stderr, '');
    assert.match(stdout, /^judged revision \d+, \d+ objects: no violation\n$/);
    assert.equal(code, 0);
  });

  it('watches until Ctrl-C, prints what is broken, and exits with 1 for it', async () => {
    const waiting = await mark('True');
    const stop = new AbortController();
    let soFar = '';
    const run = folder.run(['check'], {
      signal: stop.signal,
      onStdout: (text) => {
        soFar = text;
      },
    });
    try {
      await until('it watches', () => /^watching \d+ objects/.test(soFar), 30_000);
      const status = { ...waiting.status, ...scrubPending('False').status } as NonNullable<Host['status']>;
      await putUnguarded(server, { ref: Host, object: { ...waiting, status } });
      const words =
        /revision (\d+): scrub-before-free: host mac-1 does not wait for a scrub any more, and its last one is none/;
      await until('it says so', () => words.test(soFar), 30_000);
      assert.equal(Number(words.exec(soFar)?.[1]), server.store.revision());
    } finally {
      stop.abort();
    }
    const { code, stdout } = await run;
    assert.match(stdout, /\njudged 2 changes, revisions \d+ to \d+, \d+ objects: 1 violation\n$/);
    assert.equal(code, 1);
  });

  it('watches for as long as it is told, and judges what was written until then', async () => {
    const run = folder.run(['check', '--for', '1s', '-o', 'json']);
    const { code, stdout } = await run;
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      lines.map(({ type }) => type),
      ['begun', 'summary'],
    );
    assert.equal(lines[1].to, server.store.revision());
    assert.equal(lines[1].violations, 0);
    assert.equal(code, 0);
  });

  it('is for operators, and says so', async () => {
    const { client } = server;
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const send = (url: string, body: object) =>
      client.json({
        method: 'POST',
        path: url,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(body)),
      });
    await send(path, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'guest' } });
    const asked = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    const answer = (await send(`${path}/guest/token`, asked)) as { status: { token: string } };
    const file = await folder.write('guest.kubeconfig', started.kubeconfig(answer.status.token));
    const { code, stdout, stderr } = await folder.run(['check', '--once', '--kubeconfig', file]);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^error: check looks at the whole fleet, which is for operators: .*forbidden/i);
    assert.match(stderr, /hint: use an operator's credentials/);
  });

  it('is not both once and for a time', async () => {
    const { code, stderr } = await folder.run(['check', '--once', '--for', '1m']);
    assert.equal(code, 1);
    assert.match(stderr, /^error: --once and --for are not both/);
  });
});
