import assert from 'node:assert/strict';
import { WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { enveloped, message, nested } from '../protobuf/encode.ts';
import { MERGE, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/demo/leases';

const named = (name: string, ...rest: readonly (readonly [number, Uint8Array])[]): Uint8Array =>
  message((w) => {
    nested(w, 1, (meta) => meta.tag(1, WireType.LengthDelimited).string(name));
    for (const [number, bytes] of rest) nested(w, number, bytes);
  });

const holder = (name: string) => message((w) => w.tag(1, WireType.LengthDelimited).string(name));
const lease = (name: string, by: string) => enveloped('coordination.k8s.io/v1', 'Lease', named(name, [2, holder(by)]));
const namespace = (name: string) => enveloped('v1', 'Namespace', named(name));

const deleteOptions = enveloped(
  'v1',
  'DeleteOptions',
  message((w) => w.tag(5, WireType.LengthDelimited).string('All')),
);

describe('requests with a protobuf body', () => {
  it('create and replace what Kubernetes publishes a message for, and are answered in JSON', async () => {
    await using server = await WidgetServer.start();
    const headers = { accept: `${PROTOBUF},application/json` };
    const made = await server.send('POST', NAMESPACES, namespace('made'), PROTOBUF, { headers });
    assert.equal(made.status, 201);
    assert.equal(made.headers['content-type'], 'application/json');
    assert.equal(made.body.metadata?.name, 'made');
    assert.deepEqual(made.body.status, { phase: 'Active' });

    const sent = await server.ok('POST', LEASES, lease('l', 'me'), PROTOBUF);
    const { body } = await server.send('POST', LEASES, { metadata: { name: 'j' }, spec: { holderIdentity: 'me' } });
    const keys = (object: object) => Object.keys(object).sort();
    assert.deepEqual([keys(sent), keys(sent.metadata), sent.spec], [keys(body), keys(body.metadata ?? {}), body.spec]);
    const put = await server.ok('PUT', `${LEASES}/l`, lease('l', 'you'), `${PROTOBUF}; charset=utf-8`);
    assert.equal(put.spec?.holderIdentity, 'you');
  });

  it('say how to delete, whatever is deleted', async () => {
    await using server = await WidgetServer.start();
    await server.make('w');
    assert.equal((await server.ok('DELETE', `${WIDGETS}/w`, deleteOptions, PROTOBUF)).status, 'Success');
    await server.ok('GET', `${WIDGETS}/w`);
    const wrong = await server.send('DELETE', `${WIDGETS}/w`, namespace('w'), PROTOBUF);
    assert.equal(wrong.status, 400);
    await server.ok('DELETE', `${WIDGETS}/w`, enveloped('v1', 'DeleteOptions', new Uint8Array()), PROTOBUF);
    assert.equal((await server.send('GET', `${WIDGETS}/w`)).status, 404);
  });

  it('are 415 for kinds without a message and for patches, and those with one name it among what is read', async () => {
    await using server = await WidgetServer.start();
    await server.make('w');
    const own = '/apis/coppice.dev/v1/tenants';
    for (const [url, body] of [
      [WIDGETS, widget('p')],
      [own, {}],
    ] as const) {
      const { status, body: answer } = await server.send('POST', url, body, PROTOBUF);
      assert.equal(status, 415);
      assert.match(answer.message ?? '', /accepted media types include: application\/json, application\/yaml$/);
    }
    assert.equal((await server.send('PATCH', `${WIDGETS}/w`, namespace('w'), PROTOBUF)).status, 415);
    assert.equal((await server.send('PUT', `${WIDGETS}/w/scale`, namespace('w'), PROTOBUF)).status, 415);
    const other = await server.send('POST', NAMESPACES, 'x', 'text/plain');
    assert.match(other.body.message ?? '', /application\/yaml, application\/vnd\.kubernetes\.protobuf$/);
    assert.equal((await server.send('PATCH', `${NAMESPACES}/demo`, { metadata: {} }, MERGE)).status, 200);
  });

  it('go the way of JSON: other kinds, bad names and taken names are refused as there', async () => {
    await using server = await WidgetServer.start();
    const code = async (body: Uint8Array) => (await server.send('POST', NAMESPACES, body, PROTOBUF)).status;
    assert.equal(await code(lease('x', 'me')), 400);
    assert.equal(await code(namespace('Not_A_Name')), 422);
    assert.equal(await code(namespace('demo')), 409);
    assert.equal(await code(new Uint8Array()), 400);
  });

  it('of noise are never answered with a fault of the server', async () => {
    await using server = await WidgetServer.start();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), fc.boolean(), async (noise, whole) => {
        const body = whole ? noise : enveloped('coordination.k8s.io/v1', 'Lease', noise);
        const { status } = await server.send('POST', LEASES, body, PROTOBUF);
        assert.ok(status < 500, `${status} of ${Buffer.from(body).toString('hex')}`);
        const deleted = await server.send('DELETE', `${LEASES}/none`, body, PROTOBUF);
        assert.ok(deleted.status === 400 || deleted.status === 404 || deleted.status === 422, `${deleted.status}`);
      }),
      { numRuns: 300 },
    );
  });
});
