import assert from 'node:assert/strict';
import { send } from '../../harness/raw.ts';
import { WIDGETS, WidgetServer } from './widget-server.ts';

const YAML = 'application/yaml';
const SIZED_TWICE = '"spec": {"size": "small", "size": "large"}';
const widget = (rest: string) => `apiVersion: demo.example.com/v1\nkind: Widget\nmetadata: {name: w}\n${rest}`;

describe('requests with a YAML body', () => {
  it('create, replace and delete', async () => {
    await using server = await WidgetServer.start();
    const made = await server.ok('POST', WIDGETS, widget('spec:\n  size: small\n  serial: 9007199254740993\n'), YAML);
    assert.equal(made.spec?.size, 'small');
    const { text } = await send(server.app, 'GET', `${WIDGETS}/w`);
    assert.match(text, /"serial":9007199254740993/);
    const version = made.metadata.resourceVersion;
    const put = widget(`spec: {size: large}\n`).replace('{name: w}', `{name: w, resourceVersion: "${version}"}`);
    assert.equal((await server.ok('PUT', `${WIDGETS}/w`, put, `${YAML}; charset=utf-8`)).spec?.size, 'large');
    const scaled = await server.ok('PUT', `${WIDGETS}/w/scale`, 'metadata: {name: w}\nspec: {replicas: 7}', YAML);
    assert.equal(scaled.spec?.replicas, 7);
    const dry = await server.ok('DELETE', `${WIDGETS}/w`, 'kind: DeleteOptions\ndryRun: [All]\n', YAML);
    assert.equal(dry.kind, 'Status');
    await server.ok('GET', `${WIDGETS}/w`);
    await server.ok('DELETE', `${WIDGETS}/w`, 'propagationPolicy: Background', YAML);
    assert.equal((await server.send('GET', `${WIDGETS}/w`)).status, 404);
  });

  it('are told of unknown fields as JSON is, and of fields given twice by their lines', async () => {
    await using server = await WidgetServer.start();
    const odd = widget('spec: {size: small, size: large, bogus: 1}\n');
    const strict = await server.send('POST', `${WIDGETS}?fieldValidation=Strict`, odd, YAML);
    assert.equal(strict.status, 400);
    assert.match(
      strict.body.message ?? '',
      /strict decoding error: yaml: unmarshal errors:\n {2}line 4: key "size" already set in map, unknown field "spec\.bogus"$/,
    );
    const warned = await server.send('POST', WIDGETS, odd, YAML);
    assert.deepEqual([warned.status, warned.body.spec?.size], [201, 'large']);
    assert.deepEqual(warned.headers.warning, [
      '299 - "line 4: key \\"size\\" already set in map"',
      '299 - "unknown field \\"spec.bogus\\""',
    ]);
  });

  it('apply what merge keys bring, and are told of what is there already', async () => {
    await using server = await WidgetServer.start();
    const parts = 'spec:\n  size: small\n  parts:\n  - &p {name: seat, count: 2}\n  - <<: *p\n    name: horn\n';
    const apply = (query: string, body = widget(parts)) =>
      server.send('PATCH', `${WIDGETS}/w?fieldManager=m${query}`, body, 'application/apply-patch+yaml');
    const strict = await apply('&fieldValidation=Strict');
    const errors = 'yaml: unmarshal errors:\n  line 9: key "name" already set in map';
    assert.deepEqual(
      [strict.status, strict.body.message],
      [400, `error strict decoding YAML: error converting YAML to JSON: ${errors}`],
    );
    assert.equal((await server.send('GET', `${WIDGETS}/w`)).status, 404);
    const warned = await apply('');
    assert.deepEqual(warned.headers.warning, ['299 - "line 9: key \\"name\\" already set in map"']);
    assert.deepEqual(warned.body.spec?.parts, [
      { name: 'seat', count: 2 },
      { name: 'horn', count: 2 },
    ]);
    assert.equal((await apply('&fieldValidation=Ignore')).headers.warning, undefined);
    const json = `{"apiVersion": "demo.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, ${SIZED_TWICE}}`;
    const twice = await apply('&force=true', json);
    assert.deepEqual(
      [twice.body.spec?.size, twice.headers.warning],
      ['large', ['299 - "line 1: key \\"size\\" already set in map"']],
    );
  });

  it('have no boolean for a name', async () => {
    await using server = await WidgetServer.start();
    for (const name of ['y', 'off', 'N', 'Yes', 'true']) {
      const { status } = await server.send('POST', WIDGETS, widget('').replace('{name: w}', `{name: ${name}}`), YAML);
      assert.equal(status, 400, name);
    }
    const quoted = widget('spec: {size: small}').replace('{name: w}', '{name: "y"}');
    assert.equal((await server.send('POST', WIDGETS, quoted, YAML)).status, 201);
  });

  it('that say nothing or nonsense are 400; other types are 415 and name what is read', async () => {
    await using server = await WidgetServer.start();
    for (const body of ['a: [', '', '- 1', new Uint8Array([0x61, 0x3a, 0x20, 0xff])]) {
      assert.equal((await server.send('POST', WIDGETS, body, YAML)).status, 400);
    }
    for (const type of ['text/yaml', 'application/x-yaml', 'text/plain']) {
      const { status, body } = await server.send('POST', WIDGETS, widget('spec: {size: small}'), type);
      assert.equal(status, 415);
      assert.match(body.message ?? '', /application\/json, application\/yaml/);
    }
  });
});
