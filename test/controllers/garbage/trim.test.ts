import assert from 'node:assert/strict';
import { eventLeftMs } from '../../../controllers/garbage/decide.ts';
import { trim } from '../../../controllers/garbage/owned-objects.ts';
import type { Event } from '../../../resources/kinds/event.ts';

const HOUR_MS = 3_600_000;

describe('what garbage holds of an object', () => {
  it('is when each wrote and not what, which is enough to say how long an Event is kept', () => {
    const metadata = {
      name: 'e',
      namespace: 'a',
      uid: 'u',
      resourceVersion: '7',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { of: 'nobody' },
    };
    const wrote = { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' } as const;
    const managedFields = [{ ...wrote, time: '2026-01-01T00:30:00Z', fieldsV1: { 'f:message': {} } }];
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { ...metadata, managedFields }, message: 'long' };
    const held = trim(event);
    const { labels: _, ...identity } = metadata;
    assert.deepEqual(held.metadata, { ...identity, managedFields: [{ ...managedFields[0], fieldsV1: {} }] });
    assert.equal(held.message, undefined);
    assert.equal(eventLeftMs(held as Event, Date.parse('2026-01-01T00:45:00Z')), 0.75 * HOUR_MS);
  });
});
