import type { RequestKind } from '../../resources/meta/define-kind.ts';
import { isObject, type JsonObject } from '../../resources/meta/object.ts';
import { decodeMetadata } from '../admission/decode-metadata.ts';
import { judgeFields, undecodable } from '../admission/field-validation.ts';
import { compileSchemaCheck } from '../admission/schema-check.ts';
import { applyDefaults, pruneUnknown } from '../admission/structural.ts';
import { json, warningHeaders } from '../requests/respond.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { writeOptions } from '../requests/write-options.ts';
import { readObject } from './body.ts';
import { checkNamespace } from './next-object.ts';
import type { VerbContext, VerbHandler } from './verb-context.ts';

/** A question as it was asked: of its kind's shape, defaults filled in. */
export type Question = JsonObject & { metadata: JsonObject };

/** Answers a question: the question again, with its status. Throws what the asker is to be told. */
export type Answerer = (question: Question, context: VerbContext) => JsonObject | Promise<JsonObject>;

/** Answers to questions, by resource: `authorization.k8s.io/selfsubjectaccessreviews`, `core/serviceaccounts/token`. */
export type Answerers = Readonly<Record<string, Answerer>>;

/** POST of a question. It is answered in a dry run too: nothing is kept of it either way. */
async function answer(context: VerbContext, kind: RequestKind, answerer: Answerer): Promise<ServerResponse> {
  const { request, target } = context;
  const { directive } = writeOptions(request.query, 'CreateOptions');
  const sent = await readObject(request, kind);
  const pruned = pruneUnknown(decodeMetadata(kind, sent.object), kind.schema);
  const { object: _, ...unknown } = pruned;
  const found = { duplicates: sent.duplicates, ...unknown };
  const warnings = judgeFields(kind, found, directive);
  const question = applyDefaults(pruned.object, kind.schema);
  checkShape(kind, question);
  checkNamespace(question.metadata, target.namespace);
  const { metadata, ...rest } = await answerer(question, context);
  const { kind: name, apiVersion, ...body } = rest;
  const told = { kind: name, apiVersion, metadata: { creationTimestamp: null, ...asObject(metadata) }, ...body };
  return json(201, told, warningHeaders(warnings));
}

/** The handler of a question. */
export function answering(kind: RequestKind, answerer: Answerer): VerbHandler {
  return (context) => answer(context, kind, answerer);
}

const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {});

const checks = new WeakMap<RequestKind, ReturnType<typeof compileSchemaCheck>>();

/** A field of another type is no question at all, as it would not be to a program with types. What a client says as status is nothing. */
function checkShape(kind: RequestKind, { metadata: _, status: __, ...body }: Question): void {
  let check = checks.get(kind);
  if (check === undefined) {
    check = compileSchemaCheck(kind.schema);
    checks.set(kind, check);
  }
  const [first] = check(body);
  if (first !== undefined) throw undecodable(kind, `${first.field}: ${first.message}`);
}
