import type { KubeObject } from '../../resources/meta/object.ts';
import type { Target } from '../coppice-command.ts';
import { Failure } from '../failure.ts';
import { type Io, printLine } from '../io.ts';
import { openSession } from '../session.ts';
import { tenantName } from '../tenant-ref.ts';
import { TENANTS } from '../vm-ref.ts';

/** Turns a tenant away at the door, or lets it in again. What runs, runs on either way. */
export async function setDisabled(io: Io, target: Target, words: readonly string[], disabled: boolean): Promise<void> {
  const name = tenantName(words, disabled ? 'tenant disable' : 'tenant enable');
  await using session = await openSession(io, target);
  // An absent field means enabled, so that what is in a file elsewhere stays as it is.
  const patch = { spec: { disabled: disabled ? true : null } };
  const tenants = session.client.resource<KubeObject>(TENANTS);
  const { metadata } = await tenants.patch(name, patch, { fieldManager: 'coppice' }, io.signal);
  if (!disabled && metadata.deletionTimestamp !== undefined)
    throw new Failure(`tenant ${name} is being deleted since ${metadata.deletionTimestamp}: it stays turned away`);
  printLine(io, `tenant.coppice.dev/${name} ${disabled ? 'disabled' : 'enabled'}`);
}
