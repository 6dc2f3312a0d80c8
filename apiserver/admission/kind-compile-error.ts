import type { Cause } from '../../resources/meta/api-error.ts';

/** A schema whose patterns or rules do not compile. Each cause's field is the place in the schema, such as `properties[spec].x-kubernetes-validations[0].rule`. */
export class KindCompileError extends Error {
  readonly causes: readonly Cause[];

  constructor(causes: readonly Cause[]) {
    super(causes.map((cause) => `${cause.field}: ${cause.message}`).join('; '));
    this.name = 'KindCompileError';
    this.causes = causes;
  }
}
