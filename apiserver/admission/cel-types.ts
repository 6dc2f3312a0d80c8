import type { Environment } from '@marcbachmann/cel-js';
import { isObject } from '../../resources/meta/object.ts';
import type { Schema } from '../../resources/meta/schema.ts';
import { celName } from './cel-values.ts';

/** Gives schemas their CEL types in one environment, so that rules with wrong names or types are refused when compiled. */
export class CelTypes {
  readonly #environment: Environment;
  readonly #names = new Map<Schema, string>();

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** The type's name. What can be null, or of more than one type, is `dyn`. */
  of(schema: Schema): string {
    const loose = schema.nullable === true || schema['x-kubernetes-int-or-string'] === true;
    if (loose || schema['x-kubernetes-preserve-unknown-fields'] === true) return 'dyn';
    switch (schema.type) {
      case 'string':
        return stringType(schema.format);
      case 'integer':
        return 'int';
      case 'number':
        return 'double';
      case 'boolean':
        return 'bool';
      case 'array':
        return `list<${schema.items === undefined ? 'dyn' : this.of(schema.items)}>`;
      case 'object':
        return this.#object(schema);
      default:
        return 'dyn';
    }
  }

  #object(schema: Schema): string {
    if (isObject(schema.additionalProperties)) return `map<string, ${this.of(schema.additionalProperties)}>`;
    if (schema.properties === undefined || schema['x-kubernetes-embedded-resource'] === true) return 'dyn';
    const known = this.#names.get(schema);
    if (known !== undefined) return known;
    const fields: Record<string, string> = {};
    for (const [property, child] of Object.entries(schema.properties)) {
      const name = celName(property);
      if (name !== undefined) fields[name] = this.of(child);
    }
    const name = `Object${this.#names.size}`;
    this.#names.set(schema, name);
    this.#environment.registerType({ name, schema: fields });
    // Only ever checked, never run: rules run on untyped values.
    this.#environment.registerOperator(`${name} == ${name}`, () => true);
    return name;
  }
}

function stringType(format: string | undefined): string {
  switch (format) {
    case 'date-time':
    case 'date':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'byte':
      return 'bytes';
    default:
      return 'string';
  }
}
