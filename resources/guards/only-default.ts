import type { KubeObject } from '../meta/object.ts';
import { type Guard, NO_FENCES } from './guard.ts';

/** There is one object of the kind, and its name is `default`. */
export function onlyDefault<T extends KubeObject>(kind: string): Guard<T> {
  return {
    name: 'only-default',
    fences: () => NO_FENCES,
    judge: ({ before, after }) =>
      before === undefined && after !== undefined && after.metadata.name !== 'default'
        ? {
            answer: 'Invalid',
            field: 'metadata.name',
            cause: 'FieldValueInvalid',
            message: `Invalid value: "${after.metadata.name}": there is one ${kind}, and its name is "default"`,
          }
        : undefined,
  };
}
