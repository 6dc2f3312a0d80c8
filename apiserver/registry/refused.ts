import type { Change, Guard, GuardContext } from '../../resources/guards/guard.ts';
import type { WorldView } from '../../resources/guards/world.ts';
import { type ApiError, forbidden, invalid } from '../../resources/meta/api-error.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';

/** Why the first guard that minds refuses a change, as clients are told it. */
export function refusedBy(
  guards: readonly Guard[],
  { kind, name }: { readonly kind: Kind; readonly name: string },
  change: Change,
  world: WorldView,
  context: GuardContext,
): ApiError | undefined {
  for (const guard of guards) {
    const refusal = guard.judge(change, world, context);
    if (refusal === undefined) continue;
    const { cause: reason, message } = refusal;
    if (refusal.answer === 'Invalid')
      return invalid(kind, name, [{ reason: refusal.cause, message, field: refusal.field }]);
    return forbidden(kind, name, message, reason === undefined ? undefined : { reason, message });
  }
  return undefined;
}
