import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { encodeJson, parseJson } from '../../../resources/meta/json.ts';
import { isObject, type JsonObject, jsonEqual } from '../../../resources/meta/object.ts';
import { type RawAnswer, send } from '../../harness/raw.ts';
import { NAMESPACES, WidgetServer } from '../verbs/widget-server.ts';

interface Step {
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly type: string;
    readonly body: unknown;
  };
  readonly want: JsonObject & { readonly code: number };
}

interface History {
  readonly id: string;
  readonly steps: readonly Step[];
}

const histories = readFileSync(new URL('../../vectors/apply.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => parseJson(line).value as History);

describe('histories of one object recorded from a kube-apiserver', () => {
  let server: WidgetServer;
  before(async () => {
    server = await WidgetServer.start();
    await server.ok('POST', NAMESPACES, { metadata: { name: 'vectors' } });
  });
  after(() => server[Symbol.asyncDispose]());

  it('have the same outcome here: object, owners, conflicts, and whether anything was written', async () => {
    const differing: string[] = [];
    let total = 0;
    for (const { id, steps } of histories) {
      let last: string | undefined;
      for (const [index, { request, want }] of steps.entries()) {
        total++;
        const answer = await ask(server, request, last);
        const got = told(answer, last);
        if (answer.status < 300) last = String(answer.body.metadata?.resourceVersion);
        if (!jsonEqual(loose(got), loose(want)))
          differing.push(`${id}/${index}\n  sent ${encodeJson(request)}\n${differences(want, got)}`);
      }
    }
    console.log(`      ${total - differing.length} of ${total} agree`);
    assert.equal(total, 559);
    assert.deepEqual(differing, []);
  });
});

function ask({ app }: WidgetServer, { method, path, query, type, body }: Step['request'], last: string | undefined) {
  const text = encodeJson(body).replace('"$RV"', encodeJson(last ?? '1'));
  return send(app, method, `${path}?${query}`, { headers: { 'content-type': type }, body: text });
}

/** An answer in the form of the recordings. */
function told({ status, text }: RawAnswer, last: string | undefined): JsonObject {
  const body = parseJson(text).value;
  assert.ok(isObject(body), text);
  if (status >= 300) {
    const details = isObject(body.details) ? body.details : {};
    const causes = (Array.isArray(details.causes) ? details.causes : [])
      .map((cause: JsonObject) => [cause.reason ?? '', cause.field ?? '', cause.message ?? ''])
      .sort(inOrder);
    return { code: status, reason: body.reason ?? '', message: body.message, ...(causes.length > 0 ? { causes } : {}) };
  }
  const metadata = isObject(body.metadata) ? body.metadata : {};
  return {
    code: status,
    spec: body.spec,
    labels: metadata.labels ?? null,
    generation: metadata.generation,
    changed: metadata.resourceVersion !== last,
    managedFields: timeless(metadata.managedFields),
    ...('status' in body ? { status: body.status } : {}),
  };
}

function timeless(entries: unknown): JsonObject[] {
  const list = Array.isArray(entries) ? entries : [];
  const key = (entry: JsonObject) => [entry.subresource ?? '', entry.operation, entry.manager].map(String);
  return list.map(({ time: _, ...entry }: JsonObject) => entry).sort((a, b) => inOrder(key(a), key(b)));
}

function inOrder(a: readonly unknown[], b: readonly unknown[]): number {
  const at = a.findIndex((item, i) => item !== b[i]);
  return at < 0 ? 0 : String(a[at]) < String(b[at]) ? -1 : 1;
}

/** Without wording: of causes their reason and field. A conflict's message is the contract and counts. */
function loose({ message, causes, warnings: _, ...rest }: JsonObject): JsonObject {
  const kept = (Array.isArray(causes) ? causes : [])
    .filter((cause: readonly string[]) => cause[1] !== '<nil>')
    .map((cause: readonly string[]) => [cause[0], cause[1]])
    .sort(inOrder);
  return { ...rest, causes: kept, ...(rest.reason === 'Conflict' ? { message } : {}) };
}

function differences(want: JsonObject, got: JsonObject): string {
  return [...new Set([...Object.keys(want), ...Object.keys(got)])]
    .filter((field) => !jsonEqual(want[field], got[field]))
    .map((field) => `  ${field}\n    want ${encodeJson(want[field])}\n    got  ${encodeJson(got[field])}`)
    .join('\n');
}
