import { ApiError } from '../../resources/meta/api-error.ts';
import { warn } from '../io.ts';
import type { Session } from '../session.ts';
import type { Member } from './apply-set.ts';

/** What came of the deletion of a member; no error: it is gone, on its way, or would be. */
export interface Pruned {
  readonly member: Member;
  readonly error?: ApiError;
}

/** Deletes objects in their order. One that is refused does not keep the others; one that went by itself is gone as well. */
export async function prune(session: Session, members: readonly Member[], dryRun: boolean): Promise<readonly Pruned[]> {
  const pruned: Pruned[] = [];
  for (const member of members) {
    const error = await deleted(session, member, dryRun);
    pruned.push(error === undefined || followsTenant(member, error, pruned) ? { member } : { member, error });
  }
  return pruned;
}

async function deleted(
  { client, io }: Session,
  { resource, namespace, name, object }: Member,
  dryRun: boolean,
): Promise<ApiError | undefined> {
  const onWarning = (text: string) => warn(io, `Warning: ${text}`);
  try {
    const { uid } = object.metadata;
    const options = { propagationPolicy: 'Background', preconditions: { uid }, dryRun, onWarning } as const;
    await client.resource(resource, namespace).delete(name, options, io.signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.reason === 'NotFound' ? undefined : error;
  }
}

/** In a dry run the Tenant of a Namespace does not begin to go, and the Namespace is refused for it; in truth it goes with it. */
function followsTenant({ resource, name }: Member, error: ApiError, before: readonly Pruned[]): boolean {
  if (!error.details?.causes?.some(({ reason }) => reason === 'NamespaceHasTenant')) return false;
  const went = before.some(
    (each) => each.error === undefined && each.member.resource.kind === 'Tenant' && each.member.name === name,
  );
  return resource.kind === 'Namespace' && went;
}
