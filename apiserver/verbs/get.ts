import { ApiError, notFound } from '../../resources/meta/api-error.ts';
import { storedIn } from '../../resources/meta/define-kind.ts';
import { resourceId } from '../../resources/meta/resource-id.ts';
import { authorizeObject } from '../auth/authorize.ts';
import { andThen, type Eventual } from '../eventual.ts';
import { viewOf } from '../registry/versions.ts';
import { resourceVersionOption } from '../requests/options.ts';
import type { ServerResponse } from '../requests/server-request.ts';
import { assertReadable } from '../sealing/damage.ts';
import { reach } from './reach.ts';
import { oneObject } from './represent.ts';
import { oneScale } from './represent-scale.ts';
import { keyOf, nameOf, type VerbContext } from './verb-context.ts';

/** GET of one object, or of its status or scale. */
export function get(context: VerbContext): Eventual<ServerResponse> {
  const { parts, request } = context;
  const version = resourceVersionOption(request.query.get('resourceVersion'));
  return andThen(reach(parts, version, request), () => found(context));
}

function found(context: VerbContext): ServerResponse {
  const { parts, request, served, target } = context;
  const kept = parts.cache.resource(resourceId(storedIn(served.kind))).get(keyOf(context));
  if (kept === undefined) throw notFound(served.kind, nameOf(context));
  assertReadable(served.kind, kept.object);
  const stored = viewOf(served.kind, kept);
  authorizeObject(context.identity, served.kind, stored.object);
  if (target.subresource === 'scale') {
    if (served.kind.scale === undefined)
      throw new ApiError('NotFound', 'the server could not find the requested resource');
    return oneScale(200, context, stored.object, served.kind.scale);
  }
  return oneObject(200, served.kind, stored.object, {
    representation: context.representation,
    query: request.query,
    nowMs: parts.clock.now(),
    bytes: stored.bytes,
  });
}
