import assert from 'node:assert/strict';
import { formOf, metaVersionOf, negotiate } from '../../../apiserver/requests/media-type.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';

const META = 'g=meta.k8s.io';

describe('an Accept header', () => {
  const cases: readonly (readonly [header: string | undefined, representation: string, yaml: boolean])[] = [
    [undefined, 'Object', false],
    ['', 'Object', false],
    ['*/*', 'Object', false],
    ['application/*', 'Object', false],
    ['application/json;;', 'Object', false],
    ['application/json;as=;v=;g=', 'Object', false],
    ['application/json;profile=nopeer;charset=utf-8', 'Object', false],
    ['application/yaml', 'Object', true],
    ['application/json;q=0.1,application/yaml;q=0.9', 'Object', true],
    ['application/yaml;q=0.1,application/json', 'Object', false],
    ['application/json;q=0', 'Object', false],
    ['*/*,application/yaml', 'Object', true],
    ['text/html,application/json;q=0.1', 'Object', false],
    [`application/json;as=Table;v=v1;${META},application/json`, 'Table', false],
    [`application/yaml;as=Table;v=v1;${META}`, 'Table', true],
    [`application/json;as=Table;v=v1beta1;${META}`, 'Table.v1beta1', false],
    [`application/json;as=PartialObjectMetadataList;v=v1beta1;${META}`, 'PartialObjectMetadataList.v1beta1', false],
    [`application/json;as=Table;v=v9;${META},application/json`, 'Object', false],
    [
      `application/vnd.kubernetes.protobuf,application/json;as=PartialObjectMetadata;v=v1;${META}`,
      'PartialObjectMetadata',
      false,
    ],
  ];
  for (const [header, representation, yaml] of cases) {
    it(`${header} means ${representation}${yaml ? ' in YAML' : ''}`, () =>
      assert.deepEqual(negotiate(header), { representation, yaml }));
  }

  for (const header of [
    'text/html',
    'application',
    '/',
    ',',
    'application/xml',
    `application/json;as=Table;v=v9;${META}`,
  ]) {
    it(`${header} cannot be satisfied`, () =>
      assert.throws(
        () => negotiate(header),
        (error) => error instanceof ApiError && error.code === 406,
      ));
  }

  it('has no YAML for a stream', () => {
    assert.throws(() => negotiate('application/yaml', true), ApiError);
    assert.deepEqual(negotiate('application/yaml,application/json;q=0.1', true), {
      representation: 'Object',
      yaml: false,
    });
  });

  it('names a form and its version', () => {
    assert.deepEqual([formOf('Table.v1beta1'), metaVersionOf('Table.v1beta1')], ['Table', 'meta.k8s.io/v1beta1']);
    assert.deepEqual([formOf('Object'), metaVersionOf('Table')], ['Object', 'meta.k8s.io/v1']);
  });
});
