import { isObject, valueAt } from '../../resources/meta/object.ts';

/** A condition as far as people are shown it. */
interface ShownCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

/** The conditions of an object of any kind; none where it has none. */
export function conditionsOf(object: unknown): ShownCondition[] {
  const list = valueAt(object, ['status', 'conditions']);
  if (!Array.isArray(list)) return [];
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  return list.filter(isObject).map((condition) => ({
    type: text(condition.type),
    status: text(condition.status),
    reason: text(condition.reason),
    message: text(condition.message),
    since: text(condition.lastTransitionTime),
  }));
}

export function conditionOf(object: unknown, type: string): ShownCondition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}
