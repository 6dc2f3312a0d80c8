import type { Pool } from '../kinds/pool.ts';
import type { Cause } from '../meta/api-error.ts';
import { invalidField } from '../meta/field-causes.ts';
import { scheduleCauses } from '../meta/schedule.ts';
import { type Guard, NO_FENCES } from './guard.ts';
import { MEMBER_SUFFIX_LENGTH } from './pool-members.ts';

/** What is left of a member's name for its pool's. */
const LONGEST_NAME = 63 - 1 - MEMBER_SUFFIX_LENGTH;

/** What is wrong with a pool that its schema finds right. */
export function poolCauses({ metadata, spec }: Pool, previous: Pool | undefined): readonly Cause[] {
  const tooLong = previous === undefined && metadata.name.length > LONGEST_NAME;
  const why = `must be no more than ${LONGEST_NAME} characters, for its members are named after it`;
  return [
    ...(tooLong ? [invalidField('metadata.name', metadata.name, why)] : []),
    ...scheduleCauses(spec.schedules, previous?.spec.schedules),
  ];
}

/** What is shared with all tenants is the operator's to say, and costs whoever takes it. */
export const operatorsShare: Guard<Pool> = {
  name: 'operators-share',
  fences: () => NO_FENCES,
  judge({ before, after }, _world, { asker }) {
    const [was, is] = [before?.spec.shared === true, after?.spec.shared === true];
    if (after === undefined || was === is || asker.operator) return undefined;
    return {
      answer: 'Forbidden',
      cause: 'OperatorOnly',
      message: 'spec.shared is for operators to change: members of a shared pool are for every tenant',
    };
  },
};

/** Members without their pool would be nobody's: none takes them, and none lets them go. */
export const membersGoWithIt: Guard<Pool> = {
  name: 'members-go-with-it',
  fences: () => NO_FENCES,
  judge({ before, after }) {
    const orphans = (pool: Pool | undefined) => pool?.metadata.finalizers?.includes('orphan') === true;
    if (!orphans(after) || orphans(before)) return undefined;
    return {
      answer: 'Forbidden',
      cause: 'MembersGoWithIt',
      message: 'members of a pool go with it: delete it with propagationPolicy Background or Foreground',
    };
  },
};
