import { mapOf, oneOf } from './schema.ts';
import { Type } from './type.ts';

/** A LabelSelector, as Kubernetes writes it. */
export function labelSelector(description: string) {
  return Type.Object(
    {
      matchLabels: Type.Optional(mapOf(Type.String(), { description: 'Labels that must have these values.' })),
      matchExpressions: Type.Optional(
        Type.Array(
          Type.Object({
            key: Type.String({ description: 'The label.' }),
            operator: oneOf(['In', 'NotIn', 'Exists', 'DoesNotExist'], { description: 'How it is compared.' }),
            values: Type.Optional(Type.Array(Type.String(), { description: 'With what.' })),
          }),
          { description: 'Conditions on labels, all of which must hold.', maxItems: 32 },
        ),
      ),
    },
    { description },
  );
}
