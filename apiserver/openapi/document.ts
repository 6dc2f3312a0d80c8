import type { Schema } from '../../resources/meta/schema.ts';

/** A group, version and kind as OpenAPI extensions name it. */
export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A schema of a document: as a kind's, and with references to its fellows. */
export interface OpenSchema extends Omit<Schema, 'properties' | 'items' | 'additionalProperties' | 'allOf'> {
  readonly $ref?: string;
  readonly allOf?: readonly (Schema | { readonly $ref: string })[];
  readonly properties?: Readonly<Record<string, OpenSchema>>;
  readonly items?: OpenSchema;
  readonly additionalProperties?: OpenSchema | boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
  /** How a strategic merge patch treats a list of a built-in kind, and by which field it tells items apart. */
  readonly 'x-kubernetes-patch-strategy'?: 'merge' | 'replace';
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly description: string;
  readonly required?: boolean;
  readonly schema: { readonly type: 'string' | 'integer' | 'boolean' };
}

export type Content = Readonly<Record<string, { readonly schema: OpenSchema }>>;

export interface Operation {
  readonly description: string;
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
  readonly 'x-kubernetes-action'?: string;
  readonly 'x-kubernetes-group-version-kind'?: GroupVersionKind;
}

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type PathItem = Readonly<Partial<Record<Method, Operation>>> & { readonly parameters?: readonly Parameter[] };

/** An OpenAPI 3.0 document. */
export interface OpenAPIDocument {
  readonly openapi: '3.0.0';
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: { readonly schemas: Readonly<Record<string, OpenSchema>> };
}
