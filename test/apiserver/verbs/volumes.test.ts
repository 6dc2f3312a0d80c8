import assert from 'node:assert/strict';
import {
  controllerIdentity,
  hostIdentity,
  type Identity,
  OPERATOR,
  ownerIdentity,
} from '../../../apiserver/auth/identity.ts';
import { valueAt } from '../../../resources/meta/object.ts';
import { aHostWithDisk } from '../../builders/volume.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { startTestServer, type TestServer } from '../../harness/server.ts';

const API = '/apis/coppice.dev/v1';
const VOLUMES = 'namespaces/red/volumes';

describe('volumes, as the server takes them', () => {
  let server: TestServer;
  const ask = (method: string, path: string, body?: object, identity: Identity = OPERATOR): Promise<RawAnswer> => {
    const headers = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {};
    return send(server.server.app, method, `${API}/${path}`, { headers, identity, ...(body ? { body } : {}) });
  };
  const make = (path: string, kind: string, name: string, spec: object, labels = {}) =>
    ask('POST', path, { apiVersion: 'coppice.dev/v1', kind, metadata: { name, labels }, spec });
  const volume = (name: string, size = '10Gi') => make(VOLUMES, 'Volume', name, { size });
  const vm = (name: string, spec: object) => make('namespaces/red/vms', 'VM', name, { image: 'tiny', ...spec });
  const bind = (name: string, host: string) => ask('PATCH', `${VOLUMES}/${name}`, { spec: { hostName: host } });
  const told = ({ status, body }: RawAnswer) =>
    `${status} ${body.details?.causes?.[0]?.reason}: ${(body.message ?? '').replace(/^.*? is (forbidden|invalid): /, '')}`;
  const named = (...names: readonly string[]) => ({ volumes: names.map((name) => ({ name })) });

  beforeEach(async () => {
    server = await startTestServer();
    for (const name of ['mac-1', 'mac-2']) {
      const { spec, status } = aHostWithDisk({ name });
      await make('hosts', 'Host', name, spec, { rack: name });
      await ask('PATCH', `hosts/${name}/status`, { status });
    }
    for (const guestOS of ['linux', 'macos']) {
      const name = guestOS === 'linux' ? 'tiny' : 'large';
      await make('images', 'Image', name, { guestOS, source: { path: name } });
      await ask('PATCH', `images/${name}/status`, { status: { digest: 'sha256:aa' } });
    }
    await make('tenants', 'Tenant', 'red', {});
  });
  afterEach(() => server[Symbol.asyncDispose]());

  it('have from 1Gi to 2048Gi, in whatever words, and names of 40 characters at most', async () => {
    for (const size of ['1Gi', '1024Mi', '2Ti', '50G', '1500Mi']) {
      const name = `v-${size.toLowerCase()}`;
      assert.equal((await volume(name, size)).status, 201, size);
    }
    for (const size of ['0', '1', '1023Mi', '2049Gi', '3Ti', '1G']) {
      const answer = await volume('v', size);
      assert.match(
        told(answer),
        /^422 FieldValueInvalid: spec\.size: Invalid value: .*a volume has from 1Gi to 2048Gi/,
      );
    }
    for (const size of ['-1Gi', '1.5Gi', 'large']) assert.equal((await volume('v', size)).status, 422, size);
    assert.equal((await volume('a'.repeat(40))).status, 201);
    assert.match(told(await volume('a'.repeat(41))), /^422 FieldValueInvalid: metadata\.name: .*no more than 40/);
    for (const name of ['Data', 'a_b', 'a.b', '-a']) assert.equal((await volume(name)).status, 422, name);
  });

  it('are of Linux guests, that stay what and where they are', async () => {
    const mac = await vm('mac', { image: 'large', ...named('data') });
    assert.equal(
      told(mac),
      '422 FieldValueForbidden: spec.volumes: Forbidden: image large is of macos, and only Linux guests have volumes',
    );
    const moving = await vm('moving', { reschedulable: true, ...named('data') });
    assert.match(told(moving), /^422 FieldValueInvalid: .*a VM with volumes cannot be reschedulable/);
    assert.equal((await vm('twice', named('data', 'data'))).status, 422);
    assert.equal((await vm('web', named('data'))).status, 201);
    const other = await ask('PATCH', 'namespaces/red/vms/web', { spec: named('more') });
    assert.match(told(other), /^422 FieldValueInvalid: spec\.volumes: .*field is immutable$/);
    const later = await ask('PATCH', 'namespaces/red/vms/web', { spec: { reschedulable: true } });
    assert.match(told(later), /^422 .*cannot be reschedulable/);
  });

  it('on two hosts, or on one that the VM does not take, are refused before anything is made', async () => {
    for (const [name, host] of [
      ['a', 'mac-1'],
      ['b', 'mac-2'],
    ] as const) {
      await volume(name);
      assert.equal((await bind(name, host)).status, 200);
    }
    assert.equal(
      told(await vm('web', named('a', 'b'))),
      '403 VolumeElsewhere: volume a lies on host mac-1 and volume b on host mac-2',
    );
    assert.equal(
      told(await vm('web', { hostSelector: { matchLabels: { rack: 'mac-2' } }, ...named('a') })),
      '403 VolumeElsewhere: volume a lies on host mac-1, which does not match spec.hostSelector',
    );
    assert.equal(
      told(await vm('web', { hostName: 'mac-2', epoch: 1, ...named('a') })),
      '403 VolumeElsewhere: volume a lies on host mac-1, and the VM is to run on mac-2',
    );
    assert.equal((await ask('GET', 'namespaces/red/vms/web')).status, 404);
    assert.equal((await vm('web', { hostSelector: { matchLabels: { rack: 'mac-1' } }, ...named('a') })).status, 201);
  });

  it('are bound by the guard that the duty decides by, with the uid of the host, for good', async () => {
    await volume('a');
    await ask('PATCH', 'hosts/mac-1', { spec: { cordoned: true } });
    assert.equal(told(await bind('a', 'mac-1')), '403 Cordoned: host mac-1 is cordoned');
    assert.match(told(await bind('a', 'mac-9')), /^422 FieldValueInvalid: spec\.hostName: .*there is no such host$/);
    const bound = await bind('a', 'mac-2');
    const host = await ask('GET', 'hosts/mac-2');
    assert.equal(valueAt(bound.body, ['status', 'hostUID']), host.body.metadata?.uid);
    await ask('PATCH', 'hosts/mac-1', { spec: { cordoned: false } });
    assert.match(told(await bind('a', 'mac-1')), /^422 FieldValueInvalid: spec\.hostName: .*field is immutable$/);
  });

  it('are given up by nobody while a guest may have them or nobody asked, and stay lost', async () => {
    const duty = controllerIdentity('volume');
    const lose = (as: Identity) => ask('PATCH', `${VOLUMES}/a/status`, { status: { phase: 'Lost', lostBy: 'x' } }, as);
    await volume('a');
    await bind('a', 'mac-1');
    assert.equal(told(await lose(duty)), '403 NotLost: its data is there, and nobody asked for it to be given up');
    const scrub = { requestedAt: '2026-01-01T00:00:00Z', outcome: 'Waiting', takesVolumes: true };
    await ask('PATCH', 'hosts/mac-1/status', { status: { scrub } });
    await vm('web', named('a'));
    assert.equal(told(await lose(duty)), '403 VolumeInUse: it is attached to VM web');
    await ask('DELETE', 'namespaces/red/vms/web');
    assert.equal((await lose(duty)).status, 200);
    const found = await ask('PATCH', `${VOLUMES}/a/status`, { status: { phase: 'Available' } }, duty);
    assert.match(told(found), /^422 FieldValueInvalid: status\.phase: .*field is immutable$/);
  });

  it('have an id of their own', async () => {
    const duty = controllerIdentity('volume');
    const name = (volumeName: string, id: string) =>
      ask('PATCH', `${VOLUMES}/${volumeName}/status`, { status: { id } }, duty);
    await volume('a');
    await volume('b');
    assert.equal((await name('a', 'vol-0123456789ab')).status, 200);
    assert.equal(told(await name('b', 'vol-0123456789ab')), '403 IDTaken: volume red/a has id vol-0123456789ab');
    assert.match(
      told(await name('a', 'vol-ffffffffffff')),
      /^422 FieldValueInvalid: status\.id: .*field is immutable$/,
    );
  });

  it('are a nodelet’s to see and tell of where they lie on its host, and no others', async () => {
    const [own, other] = [hostIdentity('mac-1'), hostIdentity('mac-2')];
    await volume('a');
    await bind('a', 'mac-1');
    assert.equal((await ask('GET', 'volumes', undefined, own)).status, 403);
    const listed = await ask('GET', 'volumes?fieldSelector=spec.hostName%3Dmac-1', undefined, own);
    assert.deepEqual(
      listed.body.items?.map(({ metadata }) => metadata.name),
      ['a'],
    );
    assert.equal((await ask('GET', 'volumes?fieldSelector=spec.hostName%3Dmac-1', undefined, other)).status, 403);
    assert.equal((await ask('GET', `${VOLUMES}/a`, undefined, other)).status, 404);
    const tell = (status: object, as: Identity) => ask('PATCH', `${VOLUMES}/a/status`, { status }, as);
    assert.equal((await tell({ size: '10Gi' }, own)).status, 200);
    assert.equal((await tell({ size: '10Gi' }, other)).status, 404);
    assert.match(told(await tell({ phase: 'Lost' }, own)), /^403 FieldWriter: status\.phase is written by volume/);
    assert.equal((await ask('PATCH', `${VOLUMES}/a`, { spec: { size: '20Gi' } }, own)).status, 403);
    assert.equal((await ask('DELETE', `${VOLUMES}/a`, undefined, own)).status, 403);
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'red' },
    };
    const rules = await send(server.server.app, 'POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
      body: review,
      identity: own,
    });
    const rule = (
      valueAt(rules.body, ['status', 'resourceRules']) as { resources: string[]; resourceNames?: string[] }[]
    ).find(({ resources, resourceNames }) => resources.includes('volumes') && resourceNames !== undefined);
    assert.deepEqual(rule?.resourceNames, ['a']);
  });

  it('are an owner’s to make, and its host is not', async () => {
    const owner = ownerIdentity('red');
    const body = { apiVersion: 'coppice.dev/v1', kind: 'Volume', metadata: { name: 'a' }, spec: { size: '10Gi' } };
    assert.equal((await ask('POST', VOLUMES, body, owner)).status, 201);
    const placed = { ...body, metadata: { name: 'b' }, spec: { size: '10Gi', hostName: 'mac-1' } };
    assert.match(
      told(await ask('POST', VOLUMES, placed, owner)),
      /^403 FieldWriter: spec\.hostName is written by volume/,
    );
    const { body: made } = await ask('GET', `${VOLUMES}/a`, undefined, owner);
    assert.deepEqual(made.metadata?.finalizers, ['coppice.dev/volume']);
    const freed = await ask('PATCH', `${VOLUMES}/a`, { metadata: { finalizers: null } }, owner);
    assert.equal(freed.status, 403);
  });
});
