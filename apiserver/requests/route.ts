import { ApiError } from '../../resources/meta/api-error.ts';

/** What a path means. */
export type Route =
  | { readonly type: 'resource'; readonly target: ResourceTarget }
  /** Documents: discovery, OpenAPI, version, health, the index of paths. */
  | { readonly type: 'document'; readonly segments: readonly string[] }
  | { readonly type: 'unknown' };

export interface ResourceTarget {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

const DOCUMENT_ROOTS = new Set(['version', 'backup', 'healthz', 'livez', 'readyz', 'openapi', 'openid', '.well-known']);

/** Reads a path. Segments are percent-decoded one by one; `.`, `..` and names with `/` or `%` in them are refused. */
export function parseRoute(path: string): Route {
  const segments = segmentsOf(path);
  const [root] = segments;
  if (root === undefined || DOCUMENT_ROOTS.has(root)) return { type: 'document', segments };
  if (root === 'api') return under(segments, '', 1);
  // The group without a name has paths of its own.
  if (root === 'apis') return segments[1] === 'core' ? { type: 'unknown' } : under(segments, segments[1] ?? '', 2);
  return { type: 'unknown' };
}

function under(segments: readonly string[], group: string, versionAt: number): Route {
  const version = segments[versionAt];
  const rest = segments.slice(versionAt + 1);
  if (version === undefined || rest.length === 0) return { type: 'document', segments };
  const base = { group, version };
  const [first, second, third, fourth, fifth, ...beyond] = rest;
  if (beyond.length > 0 || first === undefined) return { type: 'unknown' };
  // `namespaces/NAME/PLURAL` is inside a namespace; `namespaces/NAME` and `namespaces/NAME/status|finalize` are the Namespace itself.
  const insideNamespace =
    first === 'namespaces' && third !== undefined && !(group === '' && NAMESPACE_PARTS.has(third));
  if (insideNamespace) {
    return {
      type: 'resource',
      target: { ...base, namespace: second, plural: third, name: fourth, subresource: fifth },
    };
  }
  if (fourth !== undefined) return { type: 'unknown' };
  return {
    type: 'resource',
    target: { ...base, namespace: undefined, plural: first, name: second, subresource: third },
  };
}

const NAMESPACE_PARTS = new Set(['status', 'finalize']);

/** Paths whose segments stand for themselves, as those of nearly all do. */
const PLAIN = /^(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$/;

function segmentsOf(path: string): readonly string[] {
  if (PLAIN.test(path)) return path.slice(1).split('/');
  return path
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode);
}

function decode(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch (cause) {
    throw new ApiError('BadRequest', `the path segment "${segment}" is not valid percent-encoding`, { cause });
  }
  if (text === '.' || text === '..' || text.includes('/') || text.includes('%')) {
    throw new ApiError('BadRequest', `invalid path segment "${segment}": may not be ".", ".." or contain "/" or "%"`);
  }
  return text;
}
