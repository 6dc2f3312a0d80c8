import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { MOST_YAML_BYTES } from '../../../apiserver/requests/finish-response.ts';
import { parseYaml } from '../../../apiserver/requests/yaml.ts';
import { RawWatch, rawRequest } from '../../harness/raw.ts';
import { GADGETS, MERGE, NAMESPACES, WIDGETS, WidgetServer, widget } from './widget-server.ts';

const asTable = (version: string) => `application/json;as=Table;v=${version};g=meta.k8s.io`;

describe('what is answered', () => {
  let server: WidgetServer;

  beforeEach(async () => {
    server = await WidgetServer.start();
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  const accepting = (accept: string, url: string, method = 'GET') =>
    server.send(method, url, undefined, undefined, { headers: { accept } });

  it('is YAML when that is preferred: an object, a list, a Table, a refusal, and no watch', async () => {
    await server.make('a');
    const told = async (url: string, accept = 'application/yaml') => {
      const { headers, text, status } = await accepting(accept, url);
      assert.equal(headers['content-type'], 'application/yaml', url);
      return { status, ...(parseYaml(text).value as { kind: string; code?: number }) };
    };
    assert.equal((await told(`${WIDGETS}/a`)).kind, 'Widget');
    assert.equal((await told(WIDGETS)).kind, 'WidgetList');
    assert.equal((await told(WIDGETS, asTable('v1').replace('json', 'yaml'))).kind, 'Table');
    const { kind, status, code } = await told(`${WIDGETS}/none`);
    assert.deepEqual([kind, code], ['Status', 404]);
    assert.equal(status, 'Failure');
    assert.equal((await accepting('application/yaml', `${WIDGETS}?watch=true`)).status, 406);
  });

  it('is no YAML when it is long: that would hold up everybody', async () => {
    for (const name of ['a', 'b', 'c']) {
      const value = 'x'.repeat(MOST_YAML_BYTES / 3);
      await server.make(name, { spec: { size: 'small', anything: { value } } });
    }
    const { status, body } = await accepting('application/yaml', WIDGETS);
    assert.deepEqual([status, body.reason], [406, 'NotAcceptable']);
    assert.equal((await accepting('application/yaml', `${WIDGETS}?limit=1`)).status, 200);
  });

  it('is of meta.k8s.io/v1beta1 when that is asked for, rows and items and events too', async () => {
    await server.make('a');
    const { body } = await accepting(asTable('v1beta1'), WIDGETS);
    const table = body as { apiVersion?: string; rows?: { object: { apiVersion: string } }[] };
    assert.deepEqual(
      [table.apiVersion, table.rows?.[0]?.object.apiVersion],
      ['meta.k8s.io/v1beta1', 'meta.k8s.io/v1beta1'],
    );
    const PARTIAL = asTable('v1beta1').replace('Table', 'PartialObjectMetadata');
    assert.equal((await accepting(PARTIAL, `${WIDGETS}/a`)).body.apiVersion, 'meta.k8s.io/v1beta1');
    for (const accept of [asTable('v1beta1'), PARTIAL]) {
      await using watch = await RawWatch.open(server.app, `${WIDGETS}?watch=true`, { headers: { accept } });
      const [event] = await watch.take(1);
      assert.equal(event?.object.apiVersion, 'meta.k8s.io/v1beta1');
    }
  });

  it('of a delete is a Table when the object stays, and of a collection', async () => {
    await server.make('a', { metadata: { finalizers: ['ex.io/f'] } });
    const kindOf = async (url: string) => (await accepting(asTable('v1'), url, 'DELETE')).body.kind;
    assert.equal(await kindOf(`${WIDGETS}/a`), 'Table');
    await server.ok('PATCH', `${WIDGETS}/a`, { metadata: { finalizers: null } }, MERGE);
    await server.make('b');
    assert.equal(await kindOf(`${WIDGETS}/b`), 'Status');
    await server.make('c');
    assert.equal(await kindOf(WIDGETS), 'Table');
  });

  it('of a scale is a Table or metadata too, read and written', async () => {
    await server.make('a', { spec: { size: 'small', replicas: 3 } });
    const scale = `${WIDGETS}/a/scale`;
    const { body } = await accepting(asTable('v1'), scale);
    const { columnDefinitions, rows } = body as {
      columnDefinitions?: { name: string }[];
      rows?: { cells: unknown[] }[];
    };
    assert.deepEqual(
      columnDefinitions?.map(({ name }) => name),
      ['Name', 'Desired', 'Available', 'Age'],
    );
    assert.deepEqual(rows?.[0]?.cells.slice(0, 3), ['a', 3, 0]);
    const headers = { accept: asTable('v1').replace('Table', 'PartialObjectMetadata') };
    const written = await server.send('PATCH', scale, { spec: { replicas: 4 } }, MERGE, { headers });
    assert.deepEqual(
      [written.status, written.body.kind, written.body.metadata?.name],
      [200, 'PartialObjectMetadata', 'a'],
    );
  });

  describe('compressed', () => {
    const big = { metadata: { annotations: { big: 'x'.repeat(100_000) } } };
    const fetched = async (url: string, encoding: string, method = 'GET') => {
      const { headers, body } = await server.app(rawRequest(method, url, { headers: { 'accept-encoding': encoding } }));
      const pieces: Uint8Array[] = [];
      if (body instanceof Uint8Array) pieces.push(body);
      else for await (const piece of body) pieces.push(piece);
      return { headers, bytes: Buffer.concat(pieces) };
    };

    it('is a large list, when gzip is taken, in pieces or in one', async () => {
      for (const name of ['a', 'b', 'c']) await server.make(name, big);
      const plain = await fetched(WIDGETS, 'deflate, br');
      assert.equal(plain.headers['content-encoding'], undefined);
      const packed = await fetched(WIDGETS, 'deflate, gzip;q=0.5');
      assert.deepEqual([packed.headers['content-encoding'], packed.headers.vary], ['gzip', 'Accept-Encoding']);
      assert.deepEqual(gunzipSync(packed.bytes), plain.bytes);
      assert.ok(packed.bytes.length * 20 < plain.bytes.length);
      const one = { spec: { size: 'small', anything: { x: 'y'.repeat(200_000) } } };
      await server.make('one', one);
      const object = await fetched(`${WIDGETS}/one`, 'gzip');
      assert.equal(object.headers['content-encoding'], 'gzip');
      assert.equal(JSON.parse(gunzipSync(object.bytes).toString('utf8')).metadata.name, 'one');
    });

    it('is nothing small, and no watch', async () => {
      await server.make('a', big);
      assert.equal((await fetched(WIDGETS, 'gzip')).headers['content-encoding'], undefined);
      for (const name of ['b', 'c']) await server.make(name, big);
      const headers = { 'accept-encoding': 'gzip' };
      await using watch = await RawWatch.open(server.app, `${WIDGETS}?watch=true`, { headers });
      assert.equal((await watch.take(3)).length, 3);
    });

    it('lets go of a list whose reader leaves early', async () => {
      for (const name of ['a', 'b', 'c']) await server.make(name, big);
      const { body } = await server.app(rawRequest('GET', WIDGETS, { headers: { 'accept-encoding': 'gzip' } }));
      assert.ok(!(body instanceof Uint8Array));
      for await (const piece of body) {
        assert.ok(piece.length > 0);
        break;
      }
      assert.equal((await server.send('GET', `${WIDGETS}/a`)).status, 200);
    });
  });

  describe('to a path that leads nowhere', () => {
    const text: readonly (readonly [method: string, url: string])[] = [
      ['GET', '/nope'],
      ['GET', '/apis/nope.example.com'],
      ['GET', '/apis/nope.example.com/v1/things'],
      ['GET', '/apis/demo.example.com/v9/widgets'],
      ['GET', '/apis/demo.example.com/v1/namespaces/demo/wg'],
      ['GET', '/apis/demo.example.com/v1/widgets/a'],
      ['GET', '/apis/demo.example.com/v1/namespaces/demo/gadgets'],
      ['POST', '/apis/demo.example.com/v1/widgets'],
      ['DELETE', '/apis/demo.example.com/v1/widgets'],
      ['GET', '/healthz/'],
    ];
    for (const [method, url] of text) {
      it(`is plain text: ${method} ${url}`, async () => {
        const answer = await server.send(method, url, method === 'POST' ? widget('a') : undefined);
        assert.deepEqual([answer.status, answer.text], [404, '404 page not found']);
      });
    }

    for (const url of ['/api/v2', '/api/v1/ns', '/apis/coordination.k8s.io/v1/nopes']) {
      it(`is a Status where the group is Kubernetes' own: ${url}`, async () => {
        const { status, body } = await server.send('GET', url);
        assert.deepEqual([status, body.reason, body.details], [404, 'NotFound', {}]);
      });
    }

    it('is a 404 of the object where a custom kind has no such part', async () => {
      const { status, body } = await server.send('GET', `${WIDGETS}/a/nope`);
      assert.deepEqual([status, body.details], [404, { name: 'a', group: 'demo.example.com', kind: 'widgets' }]);
    });
  });

  const refused: readonly (readonly [method: string, url: string, status: number, message: string])[] = [
    ['OPTIONS', WIDGETS, 405, ' is not supported on resources of kind "widgets.demo.example.com"'],
    ['FROB', `${WIDGETS}/a`, 405, ' is not supported on resources of kind "widgets.demo.example.com"'],
    ['POST', `${WIDGETS}/a/status`, 405, 'create is not supported on resources of kind "widgets.demo.example.com"'],
    ['DELETE', `${WIDGETS}/a/scale`, 405, 'delete is not supported on resources of kind "widgets.demo.example.com"'],
    ['PUT', WIDGETS, 400, 'name must be provided'],
    ['PATCH', GADGETS, 400, 'name must be provided'],
    ['PUT', NAMESPACES, 405, 'the server does not allow this method on the requested resource'],
    ['HEAD', '/version', 405, 'the server does not allow this method on the requested resource'],
    ['POST', '/apis', 405, 'the server does not allow this method on the requested resource'],
  ];
  for (const [method, url, status, message] of refused) {
    it(`to ${method} ${url} is ${status}`, async () => {
      const answer = await server.send(method, url);
      assert.deepEqual([answer.status, answer.body.message], [status, message]);
    });
  }

  it('to discovery and version is 406 in a form they have not, and health does not care', async () => {
    for (const url of ['/version', '/api', '/api/v1', '/apis'])
      assert.equal((await accepting('text/html', url)).status, 406, url);
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    assert.equal((await accepting(aggregated, '/apis')).status, 200);
    assert.equal((await accepting('text/html', '/healthz')).text, 'ok');
  });
});

describe('a body', () => {
  let server: WidgetServer;

  beforeEach(async () => {
    server = await WidgetServer.start();
  });

  afterEach(async () => {
    await server[Symbol.asyncDispose]();
  });

  it('of another kind is invalid, of another version of the group also warned of', async () => {
    const kind = await server.send('POST', WIDGETS, { ...widget('a'), kind: 'Gadget' });
    assert.deepEqual(
      [kind.status, kind.body.details?.kind, kind.body.details?.causes?.[0]?.field],
      [422, 'Gadget', 'kind'],
    );
    const version = { ...widget('a'), apiVersion: 'demo.example.com/v7' };
    const warned = await server.send('POST', WIDGETS, version);
    assert.deepEqual([warned.status, warned.headers.warning], [400, ['299 - "unknown field \\"spec\\""']]);
    const ignored = await server.send('POST', `${WIDGETS}?fieldValidation=Ignore`, version);
    assert.deepEqual([ignored.status, ignored.headers.warning], [400, undefined]);
  });

  it('of bytes that are no UTF-8 has them replaced', async () => {
    const text = JSON.stringify(widget('a', { spec: { size: 'small', color: 'c?d' } }));
    const bytes = Buffer.from(text).map((byte) => (byte === 0x3f ? 0xff : byte));
    const { status, body } = await server.send('POST', WIDGETS, bytes);
    assert.deepEqual([status, body.spec?.color], [201, 'c\ufffdd']);
    const marked = await server.send(
      'POST',
      WIDGETS,
      Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)]),
    );
    assert.equal(marked.status, 400);
  });

  it('may have integers of 64 bits, and none beyond', async () => {
    const sent = (name: string, serial: string) =>
      server.send(
        'POST',
        WIDGETS,
        JSON.stringify(widget(name, { spec: { size: 'small', serial: 0 } })).replace(
          '"serial":0',
          `"serial":${serial}`,
        ),
      );
    for (const [name, serial] of [
      ['a', '9223372036854775807'],
      ['b', '-9223372036854775808'],
    ] as const) {
      const { status, text } = await sent(name, serial);
      assert.equal(status, 201, text);
      assert.ok(text.includes(`"serial":${serial}`));
    }
    for (const serial of ['9223372036854775808', '-9223372036854776833', '1e19']) {
      const { status, body } = await sent('c', serial);
      assert.deepEqual([status, body.details?.causes?.[0]?.reason], [422, 'FieldValueTypeInvalid'], serial);
    }
  });

  it('that patches strictly is told of as invalid', async () => {
    await server.make('a');
    const twice = '{"spec":{"color":"a","color":"b"}}';
    const strict = await server.send('PATCH', `${WIDGETS}/a?fieldValidation=Strict`, twice, MERGE);
    assert.deepEqual([strict.status, strict.body.details?.causes?.[0]?.field], [422, 'patch']);
    const warned = await server.send('PATCH', `${WIDGETS}/a?fieldValidation=Warn`, twice, MERGE);
    assert.deepEqual([warned.status, warned.headers.warning], [200, ['299 - "duplicate field \\"spec.color\\""']]);
  });
});
