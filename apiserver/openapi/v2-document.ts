import type { GroupVersionKind } from './document.ts';

/** A schema of an OpenAPI v2 document: what v2 can say of a kind's schema. `x-` fields are vendor extensions. */
export interface V2Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, V2Schema>>;
  readonly items?: V2Schema;
  readonly additionalProperties?: V2Schema | boolean;
  readonly [extension: `x-${string}`]: unknown;
}

/** A parameter in the query or the path. */
export interface V2PlainParameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly description: string;
  readonly required?: boolean;
  readonly type: string;
  readonly uniqueItems: true;
}

/** The body of a request. */
export interface V2BodyParameter {
  readonly name: 'body';
  readonly in: 'body';
  readonly required: boolean;
  readonly schema: V2Schema;
}

export type V2Parameter = V2PlainParameter | V2BodyParameter;

export interface V2Operation {
  readonly description: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly schemes: readonly string[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly parameters?: readonly V2Parameter[];
  readonly responses: Readonly<Record<string, { readonly description: string; readonly schema?: V2Schema }>>;
  readonly 'x-kubernetes-action'?: string;
  readonly 'x-kubernetes-group-version-kind'?: GroupVersionKind;
}

type V2Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type V2PathItem = Readonly<Partial<Record<V2Method, V2Operation>>> & {
  readonly parameters?: readonly V2Parameter[];
};

/** Some paths and definitions of an OpenAPI 2.0 document. */
export interface V2Part {
  readonly paths: Readonly<Record<string, V2PathItem>>;
  readonly definitions: Readonly<Record<string, V2Schema>>;
}
