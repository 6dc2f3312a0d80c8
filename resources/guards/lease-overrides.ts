import { rfc3339 } from '../ambient/clock.ts';
import type { Lease } from '../kinds/lease.ts';
import type { AdmissionContext } from '../meta/define-kind.ts';
import { jsonEqual } from '../meta/object.ts';

type Override = NonNullable<NonNullable<Lease['status']>['overrides']>[number];

/** The schema takes no more; what is beyond it is in the audit. */
const MAX_OVERRIDES = 40;
/** Who takes tenants apart. */
export const TENANT_DUTY = 'system:controller:tenant';

/** What a write sets aside or accepts is written down with it, by whom and when. */
export function leaseOverrides(draft: Lease, previous: Lease | undefined, context: AdmissionContext): Lease {
  const found = [...overridesBy(draft, previous, context)];
  if (found.length === 0) return draft;
  const before = draft.status?.overrides ?? [];
  const same = (a: Override) => found.some((b) => a.what === b.what && a.at === b.at);
  const overrides = within(MAX_OVERRIDES, [...before.filter((each) => !same(each)), ...found]);
  return { ...draft, status: { ...draft.status, overrides } };
}

/** Terms are accepted by the lessee, as often as it likes: of these the oldest go first, and never what an operator set aside. */
function within(most: number, all: readonly Override[]): Override[] {
  let tooMany = all.length - most;
  const kept = all.filter(({ what }) => what !== 'Terms' || tooMany-- <= 0);
  return kept.slice(-most);
}

function* overridesBy(
  { spec }: Lease,
  previous: Lease | undefined,
  { nowMs, asker }: AdmissionContext,
): Iterable<Override> {
  const was = previous?.spec;
  const override = (what: Override['what'], detail?: string): Override => ({
    what,
    by: asker.user,
    at: rfc3339(nowMs),
    ...(detail === undefined ? {} : { detail }),
  });
  if (previous === undefined && asker.operator) yield override('ForTenant');
  if (spec.allowBusy === true && was?.allowBusy !== true) yield override('AllowBusy');
  if (spec.anyHost === true && was?.anyHost !== true) yield override('AnyHost');
  const { acceptedTerms, release } = spec;
  if (acceptedTerms !== undefined && acceptedTerms.version !== was?.acceptedTerms?.version)
    yield { ...override('Terms', acceptedTerms.version), by: acceptedTerms.by ?? asker.user };
  const releases = release !== undefined && !jsonEqual(release, was?.release);
  if (releases && release.force === true && was?.release?.force !== true) yield override('ForcedRelease');
  if (releases && asker.user === TENANT_DUTY) yield override('TenantDeleted');
}
