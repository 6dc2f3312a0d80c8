import { applyDefaults } from '../../apiserver/admission/structural.ts';
import { Policy } from '../../resources/kinds/policy.ts';

const DEFAULTS = applyDefaults<Pick<Policy, 'spec'>>({ spec: {} as Policy['spec'] }, Policy.schema).spec;

/** The fleet's rules, as they are by default but for what is given. */
export function aPolicy(spec: Partial<Policy['spec']> = {}): Policy {
  const metadata = { name: 'default', uid: 'p', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' };
  return { apiVersion: 'coppice.dev/v1', kind: 'Policy', metadata, spec: { ...DEFAULTS, ...spec } };
}
