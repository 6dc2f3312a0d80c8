import type { Static } from 'typebox';
import { duration } from './schema.ts';
import { Type } from './type.ts';

const schedule = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63, description: 'What it is called, such as office-hours.' }),
  start: Type.String({
    minLength: 9,
    maxLength: 200,
    description:
      'When it begins, as a cron expression of five fields: minute, hour, day of month, month, day of week; 30 7 * * 1-5 is half past seven on working days.',
  }),
  duration: duration({ description: 'How long it lasts from each start, such as 11h.' }),
  timeZone: Type.String({
    default: 'UTC',
    maxLength: 64,
    description: 'Where the clock of start hangs, as a name of the IANA database such as Europe/Berlin.',
  }),
  replicas: Type.Integer({ minimum: 0, maximum: 1000, description: 'How many there are meanwhile.' }),
});
export type Schedule = Static<typeof schedule>;

/** Times at which another number of replicas holds than spec.replicas. */
export function schedules() {
  return Type.Optional(
    Type.Array(schedule, {
      maxItems: 20,
      description: 'Times at which another number holds than replicas. Where several do, the largest counts.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    }),
  );
}
