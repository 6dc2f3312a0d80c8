import { compileKindValidator } from '../../../apiserver/admission/validate.ts';
import { applyConfig } from '../../../apiserver/apply/apply.ts';
import { writeManagers } from '../../../apiserver/apply/managed-fields.ts';
import { afterUpdate } from '../../../apiserver/apply/update.ts';
import { invalid } from '../../../resources/meta/api-error.ts';
import { defineKind, type Kind } from '../../../resources/meta/define-kind.ts';
import type { JsonObject, KubeObject } from '../../../resources/meta/object.ts';
import type { Schema } from '../../../resources/meta/schema.ts';

const text: Schema = { type: 'string' };
const whole: Schema = { type: 'integer' };

/** A kind with one field of every way of merging. */
export const THING: Kind = defineKind({
  group: 'test.example.com',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
  origin: 'user',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          name: text,
          count: whole,
          flag: { type: 'boolean', nullable: true },
          any: { 'x-kubernetes-int-or-string': true },
          inner: {
            type: 'object',
            properties: { a: whole, b: whole, deep: { type: 'object', properties: { c: whole } } },
          },
          whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: whole, b: whole } },
          map: { type: 'object', additionalProperties: text },
          maps: { type: 'object', additionalProperties: { type: 'object', properties: { a: whole, b: whole } } },
          set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
          numbers: { type: 'array', 'x-kubernetes-list-type': 'set', items: whole },
          plain: { type: 'array', items: text },
          items: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              properties: {
                name: text,
                value: whole,
                tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
              },
            },
          },
          ports: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['port', 'protocol'],
            items: {
              type: 'object',
              properties: { port: whole, protocol: { ...text, default: 'TCP' }, note: text },
            },
          },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    },
  },
});

const validate = compileKindValidator(THING);

/** One object in the hands of several managers, without a server: what stands, and who owns what. */
export class ApplyWorld {
  live: KubeObject | undefined;
  #seconds = 0;
  /** May change under way, as users' kinds do. */
  kind: Kind = THING;
  /** Applies a spec; throws what the server would answer, also where what is left of a removed map is a null. */
  apply(manager: string, spec: unknown, force = false): this {
    const applier = { kind: this.kind, manager, subresource: undefined, now: this.#now(), force };
    const config = this.#object(spec);
    const { object, managers } = applyConfig(applier, this.live, config);
    const next = withRecord(object, writeManagers(managers));
    const causes = validate(next).filter(({ field }) => field?.startsWith('spec') === true);
    if (causes.length > 0) throw invalid(THING, 'one', causes);
    this.live = next;
    return this;
  }

  /** Writes a whole spec, not as an apply. */
  update(manager: string, spec: unknown): this {
    const writer = { kind: this.kind, manager, subresource: undefined, now: this.#now() };
    const after = withRecord(this.#object(spec), undefined);
    this.live = withRecord(after, afterUpdate(writer, this.live, after, undefined));
    return this;
  }

  get spec(): unknown {
    return this.live?.spec;
  }

  /** FieldsV1 of `f:spec`, by `manager Operation`. */
  get owners(): Readonly<Record<string, unknown>> {
    const entries = this.live?.metadata.managedFields ?? [];
    return Object.fromEntries(
      entries.map(({ manager, operation, fieldsV1 }) => [`${manager} ${operation}`, fieldsV1['f:spec'] ?? {}]),
    );
  }

  #object(spec: unknown): JsonObject {
    const metadata = { name: 'one', namespace: 'demo' };
    return { apiVersion: 'test.example.com/v1', kind: 'Thing', metadata, spec };
  }

  #now(): string {
    return new Date(Date.UTC(2030, 0, 1, 0, 0, this.#seconds++)).toISOString().replace('.000', '');
  }
}

function withRecord(object: JsonObject, managedFields: KubeObject['metadata']['managedFields']): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'];
  const kept = managedFields === undefined ? metadata : { ...metadata, managedFields };
  return { ...object, apiVersion: 'test.example.com/v1', kind: 'Thing', metadata: kept };
}
