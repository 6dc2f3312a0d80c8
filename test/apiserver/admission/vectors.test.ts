import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { decodeMetadata } from '../../../apiserver/admission/decode-metadata.ts';
import { FIELD_VALIDATION, judgeFields } from '../../../apiserver/admission/field-validation.ts';
import { applyDefaults, pruneUnknown } from '../../../apiserver/admission/structural.ts';
import { compileKindValidator } from '../../../apiserver/admission/validate.ts';
import { ApiError } from '../../../resources/meta/api-error.ts';
import { encodeJson, parseJson } from '../../../resources/meta/json.ts';
import { isObject, type JsonObject, jsonEqual, type KubeObject } from '../../../resources/meta/object.ts';
import { Widget } from './widget.ts';

interface Vector {
  readonly id: string;
  readonly steps: readonly [
    { readonly request: { readonly query: string; readonly body: unknown }; readonly want: JsonObject },
  ];
}

const validate = compileKindValidator(Widget);

/** What the steps of a create answer, in the form of the recordings (test/vectors/validation.jsonl). */
function answer(body: unknown, query: string): JsonObject {
  try {
    const { value, duplicates } = parseJson(encodeJson(body));
    assert.ok(isObject(value));
    const { object, unknown } = pruneUnknown(decodeMetadata(Widget, value), Widget.schema);
    const directive = FIELD_VALIDATION.find((each) => query.endsWith(`fieldValidation=${each}`));
    assert.ok(directive !== undefined, query);
    const warnings = judgeFields(Widget, { duplicates, unknown }, directive);
    const { status: _, ...created } = object;
    const complete = applyDefaults(created, Widget.schema);
    const causes = validate(complete as KubeObject).map((cause) => [cause.reason, cause.field ?? '', cause.message]);
    if (causes.length > 0) return { code: 422, reason: 'Invalid', causes: causes.sort(inOrder) };
    const headers = warnings.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`).sort();
    return { code: 201, spec: complete.spec, ...(headers.length === 0 ? {} : { warnings: headers }) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { code: error.code, reason: error.reason, message: error.message };
  }
}

const inOrder = (a: readonly string[], b: readonly string[]) => {
  const at = a.findIndex((text, i) => text !== b[i]);
  return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
};

describe('creates recorded from a kube-apiserver', () => {
  const lines = readFileSync(new URL('../../vectors/validation.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n');

  it('are answered alike, word for word', () => {
    const differing: string[] = [];
    for (const line of lines) {
      const { id, steps } = parseJson(line).value as Vector;
      const { request, want } = steps[0];
      const got = answer(request.body, request.query);
      const expected: JsonObject = { code: want.code };
      for (const field of new Set([...Object.keys(got), 'causes', 'warnings'])) {
        if (want[field] !== undefined) expected[field] = want[field];
      }
      if (!jsonEqual(got, expected)) {
        differing.push(`${id}\n  want ${encodeJson(want)}\n  got  ${encodeJson(got)}`);
      }
    }
    console.log(`      ${lines.length - differing.length} of ${lines.length} agree`);
    assert.equal(lines.length, 400);
    assert.deepEqual(differing, []);
  });
});
