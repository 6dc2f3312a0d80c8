import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StoreError } from '../../../apiserver/store/store.ts';
import { etcdFailure } from '../../../cli/serve/etcd-failure.ts';
import { serverName } from '../../../cli/serve/server-name.ts';
import { type ServerFlags, serverOptions } from '../../../cli/serve/server-options.ts';
import { systemIds } from '../../../resources/ambient/system-ids.ts';

const FLAGS: ServerFlags = {
  home: '/srv/coppice',
  pki: undefined,
  name: undefined,
  listen: undefined,
  port: undefined,
  advertise: undefined,
  'tls-san': undefined,
};
const options = (flags: Partial<ServerFlags>, env: Record<string, string> = {}) =>
  serverOptions({ ...FLAGS, ...flags }, env, '/work-dir');

describe('the options of an API server', () => {
  it('have defaults that nobody else can reach', () => {
    assert.deepEqual(options({}), {
      home: '/srv/coppice',
      store: { kind: 'sqlite' },
      pki: undefined,
      name: undefined,
      listen: '127.0.0.1',
      port: 7799,
      advertise: undefined,
      names: [],
    });
  });

  it('are taken as they are meant', () => {
    const read = options(
      {
        pki: 'keys',
        name: 'one',
        listen: '::',
        advertise: 'https://Api.example:443/',
        'tls-san': 'lb.example, 10.0.0.9',
      },
      { COPPICE_PORT: '1234', COPPICE_ETCD: 'e:2379' },
    );
    const store = { kind: 'etcd', endpoints: ['e:2379'], root: 'coppice' };
    const names = ['lb.example', '10.0.0.9'];
    const advertise = 'https://api.example';
    assert.deepEqual(read, {
      home: '/srv/coppice',
      store,
      pki: '/work-dir/keys',
      name: 'one',
      listen: '::',
      port: 1234,
      advertise,
      names,
    });
  });

  for (const [flag, value, told] of [
    ['name', 'One', /^--name is "One": at most 63 lowercase/],
    ['listen', 'here', /^--listen is "here", which is not an address$/],
    ['advertise', 'api.example:7799', /^--advertise is .* not https:\/\/HOST:PORT$/],
    ['advertise', 'http://api.example:7799', /not https/],
    ['advertise', 'https://api.example/path', /not https/],
    ['advertise', 'https://me@api.example', /not https/],
    ['tls-san', 'a,,b', /^--tls-san: "" is neither a name nor an address$/],
    ['tls-san', 'https://a', /neither a name/],
    ['pki', '', /^--pki is empty$/],
    ['home', '', /^--home is empty$/],
  ] as const) {
    it(`do not take --${flag} "${value}"`, () =>
      assert.throws(() => options({ [flag]: value }), { name: 'Failure', message: told }));
  }
});

describe('the name of a server', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coppice-name-'));
    path = join(folder, 'server.json');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is the home’s for good, and another home’s is another, on one machine too', () => {
    const first = serverName(path, undefined, systemIds);
    assert.match(first.name, /^[a-z0-9-]+-[a-z0-9]{5}$/);
    assert.deepEqual(serverName(path, undefined, systemIds), first);
    const other = serverName(join(folder, 'other.json'), undefined, systemIds);
    assert.notEqual(other.name, first.name);
    assert.notEqual(other.uid, first.uid);
  });

  it('is the one that is given, now and from then on, and leaves the home who it is', () => {
    const first = serverName(path, undefined, systemIds);
    const given = { name: 'one', uid: first.uid };
    assert.deepEqual(serverName(path, 'one', systemIds), given);
    assert.deepEqual(serverName(path, undefined, systemIds), given);
  });

  it('is made anew where the file holds something else', () => {
    for (const content of ['', 'x', '{}', '{"name":"No","uid":"u"}', '[]']) {
      writeFileSync(path, content);
      assert.match(serverName(path, undefined, systemIds).name, /^[a-z0-9-]+$/, content);
    }
  });
});

describe('an etcd that cannot be used', () => {
  const etcd = { kind: 'etcd', endpoints: ['127.0.0.1:2379', 'b:2379'], root: 'coppice' } as const;
  const auth = { username: 'coppice', password: 'never told' };
  const told = (message: string, given: Parameters<typeof etcdFailure>[1] = etcd) =>
    etcdFailure(new StoreError('Unavailable', 'etcd does not answer', { cause: new Error(message) }), given);

  for (const [message, said, given] of [
    [
      '14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:2379. Resolution note: ',
      'etcd does not answer at 127.0.0.1:2379, b:2379: connection refused',
      etcd,
    ],
    [
      '14 UNAVAILABLE: Name resolution failed for target dns:nowhere:2379',
      'etcd does not answer at 127.0.0.1:2379, b:2379: there is no such name',
      etcd,
    ],
    [
      'etcd did not take the call within ten seconds',
      'etcd does not answer at 127.0.0.1:2379, b:2379: no answer within ten seconds',
      etcd,
    ],
    ['3 INVALID_ARGUMENT: etcdserver: user name is empty', 'etcd wants a user', etcd],
    [
      '3 INVALID_ARGUMENT: etcdserver: authentication failed, invalid user ID or password',
      'etcd refuses user coppice or its password',
      { ...etcd, auth },
    ],
    [
      '7 PERMISSION_DENIED: etcdserver: permission denied',
      'etcd lets user coppice do too little under coppice/',
      { ...etcd, auth },
    ],
    [
      '14 UNAVAILABLE: No connection established. Last error: Error: self-signed certificate in certificate chain',
      'etcd at 127.0.0.1:2379, b:2379 and this server do not trust each other’s certificates',
      etcd,
    ],
  ] as const) {
    it(`is told without the words of its libraries: ${said}`, () => {
      const failure = told(message, given);
      assert.equal(failure.message, said);
      assert.ok(failure.hint);
    });
  }
});
