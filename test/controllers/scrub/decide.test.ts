import assert from 'node:assert/strict';
import { decide, type ScrubRules } from '../../../controllers/scrub/decide.ts';
import type { ScrubReport } from '../../../controllers/scrub/request.ts';
import { rfc3339 } from '../../../resources/ambient/clock.ts';
import type { Host } from '../../../resources/kinds/host.ts';
import type { VM } from '../../../resources/kinds/vm.ts';
import type { Volume } from '../../../resources/kinds/volume.ts';
import { type Condition, findCondition } from '../../../resources/meta/condition.ts';
import { aVolume } from '../../builders/volume.ts';
import { aHost, aVM, EPOCH_START } from '../../harness/builders.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const ASKED = '2026-03-01T11:59:00Z';
const MANUAL: ScrubRules = { automatic: false, hookTimeout: '10m', retentionMs: 72 * 3_600_000 };
const AUTOMATIC: ScrubRules = { ...MANUAL, automatic: true };

const NOTHING = { vms: [], volumes: [] };

interface Case {
  readonly volumes?: readonly Volume[];
  readonly asked?: Host['spec']['scrub'];
  readonly pendingSince?: string;
  readonly last?: ScrubReport;
  readonly leased?: boolean;
  readonly orphans?: readonly string[];
  readonly ready?: boolean;
  readonly distrusts?: boolean;
}

function aCase(wish: Case): Host {
  const host = aHost({ ...(wish.leased ? { lessee: 'red' } : {}), ready: wish.ready ?? true });
  const condition = (type: string, since: string): Condition => ({
    ...{ type, status: 'True', reason: 'LeaseEnded', message: 'said', lastTransitionTime: since },
  });
  return {
    ...host,
    spec: { ...host.spec, ...(wish.asked === undefined ? {} : { scrub: wish.asked }) },
    status: {
      ...host.status,
      ...(wish.last === undefined ? {} : { scrub: wish.last }),
      ...(wish.orphans === undefined
        ? {}
        : { orphans: wish.orphans.map((label) => ({ id: `id-${label}`, label, power: 'Running' })) }),
      conditions: [
        ...(host.status?.conditions ?? []),
        ...(wish.pendingSince === undefined ? [] : [condition('ScrubPending', wish.pendingSince)]),
        ...(wish.distrusts ? [condition('StoreRolledBack', EPOCH_START)] : []),
      ],
    },
  };
}

/** What is decided, in a line: outcome and message; what ScrubPending is then; what is deleted. */
function decided(wish: Case, rules = MANUAL, ...bound: readonly VM[]): string {
  const host = aCase(wish);
  const { status, remove } = decide(host, { vms: bound, volumes: wish.volumes ?? [] }, rules, NOW);
  const { outcome = 'none', message = '' } = status.scrub ?? {};
  const after = { ...host, status: { ...host.status, conditions: status.conditions ?? [] } };
  const pending = findCondition(after, 'ScrubPending');
  const waits = pending === undefined ? '' : ` | ${pending.status} ${pending.reason}`;
  const deletes = remove.length === 0 ? '' : ` | deletes ${remove.map((vm) => vm.metadata.name).join()}`;
  return `${outcome} ${message}`.trim() + waits + deletes;
}

const asked = { requestedAt: ASKED };
const forced = { requestedAt: ASKED, force: true };
const vm = (name: string) => aVM({ name, spec: { hostName: 'mac-1' } });
const leaving = (name: string): VM => {
  const made = vm(name);
  return { ...made, metadata: { ...made.metadata, deletionTimestamp: EPOCH_START } };
};
const running: ScrubReport = { requestedAt: ASKED, outcome: 'Running', startedAt: ASKED, hookTimeout: '10m' };
const answered = (result: 'Cleared' | 'Refused' | 'Failed', message?: string): ScrubReport => ({
  ...running,
  clearing: {
    ...{ result, at: ASKED, guestsRemoved: 0, workspacesRemoved: 0 },
    ...(message === undefined ? {} : { message }),
  },
});

describe('the scrub of a host', () => {
  it('is not begun when nobody asks', () => {
    assert.equal(decided({}), 'none');
    assert.equal(decided({ pendingSince: ASKED }), 'none | True LeaseEnded');
  });

  it('is begun when asked for, and the host waits for it from then on', () => {
    assert.equal(decided({ asked }), 'Running | True Scrubbing');
    assert.equal(decided({ asked, pendingSince: ASKED }), 'Running | True Scrubbing');
    const { status } = decide(aCase({ asked }), NOTHING, MANUAL, NOW);
    assert.deepEqual(status.scrub, {
      ...{ requestedAt: ASKED, outcome: 'Running', startedAt: rfc3339(NOW), hookTimeout: '10m' },
    });
  });

  it('is refused while VMs or orphans remain, which are named', () => {
    assert.equal(
      decided({ asked, pendingSince: ASKED }, MANUAL, vm('a'), leaving('b')),
      'Refused 2 VMs are bound to it (red/a, red/b); --force removes what remains | True LeaseEnded',
    );
    assert.equal(
      decided({ asked, orphans: ['red/x'] }),
      'Refused 1 guest has no VM (red/x); --force removes what remains',
    );
    assert.equal(
      decided({ asked, orphans: ['red/w', 'red/x', 'red/y', 'red/z'] }, MANUAL, vm('a')),
      'Refused 1 VM is bound to it (red/a), 4 guests have no VM (red/w, red/x, red/y, …); --force removes what remains',
    );
  });

  it('forced, deletes the VMs first, keeps others away, and begins when they are gone', () => {
    assert.equal(
      decided({ asked: forced }, MANUAL, vm('a'), leaving('b')),
      'Waiting waits until its VMs are gone: 2 VMs are bound to it (red/a, red/b) | True Scrubbing | deletes a',
    );
    const last: ScrubReport = { requestedAt: ASKED, outcome: 'Waiting', forced: true };
    assert.equal(decided({ asked: forced, last, orphans: ['red/x'] }), 'Running | True Scrubbing');
  });

  it('is refused on a leased host, forced or not, with the way on', () => {
    const why = 'the host is leased to red; end the lease first: coppice lease release l -n red --force';
    assert.equal(decided({ asked, leased: true }), `Refused ${why}`);
    assert.equal(decided({ asked: forced, leased: true }, MANUAL, vm('a')), `Refused ${why}`);
  });

  it('waits while its nodelet is not heard, or does not trust the store, and deletes nothing', () => {
    assert.equal(decided({ asked, ready: false }), 'Waiting waits for its nodelet:');
    assert.equal(decided({ asked: forced, ready: false }, MANUAL, vm('a')), 'Waiting waits for its nodelet:');
    assert.equal(decided({ asked: forced, distrusts: true }), 'Waiting waits until the host trusts its store: said');
  });

  it('is withdrawn with its request while it waits', () => {
    const last: ScrubReport = { requestedAt: ASKED, outcome: 'Waiting' };
    assert.equal(decided({ last }), 'none');
    assert.equal(decided({ last: { ...last, automatic: true }, pendingSince: ASKED }), 'none | True LeaseEnded');
  });

  it('that runs goes on whatever is asked meanwhile', () => {
    assert.equal(decided({ last: running, pendingSince: ASKED }), 'Running | True LeaseEnded');
    const later = { requestedAt: rfc3339(NOW) };
    assert.equal(decided({ asked: later, last: running, pendingSince: ASKED }), 'Running | True LeaseEnded');
    assert.match(decided({ last: running, ready: false, pendingSince: ASKED }), /^Running waits for its nodelet/);
  });

  it('ends as the nodelet says: with success the host is free, else it waits on', () => {
    const end = (last: ScrubReport) => decided({ asked, last, pendingSince: ASKED });
    assert.equal(end(answered('Cleared')), 'Succeeded | False Scrubbed');
    assert.equal(end(answered('Refused', 'guest x')), 'Refused guest x | True ScrubRefused');
    assert.equal(end(answered('Failed', 'hook: 3')), 'Failed hook: 3 | True ScrubFailed');
  });

  it('is answered once: another takes a later request', () => {
    const last: ScrubReport = { requestedAt: ASKED, outcome: 'Failed', finishedAt: ASKED, message: 'm' };
    assert.equal(decided({ asked, last, pendingSince: ASKED }), 'Failed m | True LeaseEnded');
    assert.equal(
      decided({ asked: { requestedAt: rfc3339(NOW) }, last, pendingSince: ASKED }),
      'Running | True Scrubbing',
    );
    assert.equal(decided({ asked: { requestedAt: EPOCH_START }, last }), 'Failed m');
  });

  it('restamps ScrubPending when the spec changed, so that who waits for it is answered', () => {
    const host = aCase({ pendingSince: ASKED });
    const { status } = decide({ ...host, metadata: { ...host.metadata, generation: 7 } }, NOTHING, MANUAL, NOW);
    const pending = status.conditions?.find(({ type }) => type === 'ScrubPending');
    assert.deepEqual([pending?.observedGeneration, pending?.lastTransitionTime], [7, ASKED]);
  });
});

describe('what a host that waits for a scrub says of volumes on it', () => {
  const volume = aVolume({ status: { phase: 'Stranded', strandedAt: '2026-03-01T10:00:00Z' } });
  const told = (wish: Case, rules = MANUAL) => {
    const host = aCase(wish);
    const { status, againMs } = decide(host, { vms: [], volumes: wish.volumes ?? [] }, rules, NOW);
    const after = { ...host, status: { ...host.status, conditions: status.conditions ?? [] } };
    return { pending: findCondition(after, 'ScrubPending'), againMs, scrub: status.scrub };
  };

  it('is which, whose, and until when, though nobody asks for a scrub', () => {
    const { pending, againMs } = told({ volumes: [volume], pendingSince: ASKED });
    assert.deepEqual([pending?.reason, pending?.lastTransitionTime], ['VolumesRemain', ASKED]);
    assert.match(
      pending?.message ?? '',
      /volume red\/data lies on it: .* destroys the data of red; from 2026-03-04T10:00:00Z on any scrub does$/,
    );
    assert.equal(againMs, 70 * 3_600_000);
  });

  it('is nothing where it does not wait, or none is left', () => {
    assert.equal(told({ volumes: [volume] }).pending, undefined);
    const host = aCase({ pendingSince: ASKED, volumes: [volume] });
    const { conditions = [] } = decide(host, { vms: [], volumes: [volume] }, MANUAL, NOW).status;
    const later = { ...host, status: { ...host.status, conditions } };
    const { status } = decide(later, NOTHING, MANUAL, NOW);
    assert.equal(status.conditions?.find(({ type }) => type === 'ScrubPending')?.reason, 'LeaseEnded');
  });

  it('tells who asks which volumes it waits for, where it comes by itself', () => {
    const { scrub } = told({ asked, volumes: [volume], pendingSince: ASKED }, AUTOMATIC);
    assert.deepEqual([scrub?.outcome, scrub?.volumesInTheWay], ['Waiting', ['red/data']]);
    assert.equal(told({ asked, volumes: [], pendingSince: ASKED }, AUTOMATIC).scrub?.volumesInTheWay, undefined);
  });
});

describe('the scrub of a host by itself', () => {
  it('is begun once the host waits for one, and only then', () => {
    assert.equal(decided({}, AUTOMATIC), 'none');
    assert.equal(decided({ pendingSince: ASKED }, AUTOMATIC), 'Running | True Scrubbing');
  });

  it('waits for what remains instead of being refused, and forces nothing', () => {
    const waits = 'Waiting 1 VM is bound to it (red/a); --force removes what remains | True LeaseEnded';
    assert.equal(decided({ pendingSince: ASKED }, AUTOMATIC, vm('a')), waits);
    assert.equal(decided({ asked, pendingSince: ASKED }, AUTOMATIC, vm('a')), waits);
    assert.match(decided({ asked }, AUTOMATIC, vm('a')), /^Refused/);
    const refused = { ...answered('Refused', 'guest x'), automatic: true };
    assert.equal(decided({ last: refused, pendingSince: ASKED }, AUTOMATIC), 'Waiting guest x | True LeaseEnded');
  });

  it('comes once for each time the host waits, and is not tried again when it failed', () => {
    const last = { requestedAt: ASKED, finishedAt: ASKED };
    const since = (pendingSince: string, outcome: 'Succeeded' | 'Failed' | 'Refused') =>
      decided({ last: { ...last, outcome }, pendingSince }, AUTOMATIC);
    assert.match(since(ASKED, 'Succeeded'), /^Running/);
    assert.match(since(ASKED, 'Failed'), /^Failed/);
    assert.match(since(EPOCH_START, 'Refused'), /^Refused/);
    assert.match(since('2026-03-01T11:59:30Z', 'Refused'), /^Running/);
  });

  it('is another request than any before it', () => {
    const last: ScrubReport = { requestedAt: '2099-01-01T00:00:00Z', outcome: 'Succeeded', finishedAt: ASKED };
    const { status } = decide(aCase({ last, pendingSince: ASKED }), NOTHING, AUTOMATIC, NOW);
    assert.equal(status.scrub?.requestedAt, '2099-01-01T00:00:01Z');
  });

  it('gives way to an operator who forces it', () => {
    const last: ScrubReport = { requestedAt: EPOCH_START, outcome: 'Waiting', automatic: true };
    assert.equal(decided({ asked: forced, last, pendingSince: EPOCH_START }, AUTOMATIC), 'Running | True Scrubbing');
  });
});
