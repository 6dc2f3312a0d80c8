import { UnreachableError } from '../apiserver/client/unreachable-error.ts';
import { ApiError } from '../resources/meta/api-error.ts';
import { Exit, Failure } from './failure.ts';

/** What is printed for an error, and the exit code. */
interface Explained {
  readonly message: string;
  readonly details: readonly string[];
  readonly hint: string | undefined;
  readonly exitCode: number;
}

/** Undefined when nothing is to be said any more. */
export function explain(error: unknown): Explained | undefined {
  if (error instanceof Exit) return undefined;
  if (error instanceof Failure) return { ...bare(error.message), hint: error.hint, exitCode: error.exitCode };
  if (error instanceof UnreachableError) return { ...bare(error.message), hint: HINTS[error.reason] };
  if (error instanceof ApiError) return refusal(error);
  if (isUsage(error)) return { ...bare(usageText(error)), hint: usageHint(error) };
  const message = error instanceof Error ? error.message : String(error);
  return { ...bare(`coppice failed: ${message}`), hint: 'this is a fault of coppice; COPPICE_DEBUG=1 shows where' };
}

const bare = (message: string): Explained => ({ message, details: [], hint: undefined, exitCode: 1 });

const HINTS = {
  refused: 'start the control plane with npm start or coppice up, or choose another with --kubeconfig or --context',
  'unknown-host': 'look at the server in the kubeconfig',
  untrusted:
    'the kubeconfig may belong to another server or an earlier one: coppice kubeconfig says which file is used',
  timeout: 'look at the server in the kubeconfig, and at the network between',
  broken: 'the server may be restarting; try again',
} as const;

/** The server's own words. Causes are listed only where the message does not have them already. */
function refusal(error: ApiError): Explained {
  const causes = (error.details?.causes ?? []).filter((cause) => !error.message.includes(cause.message));
  const details = causes.map((cause) =>
    cause.field === undefined ? cause.message : `${cause.field}: ${cause.message}`,
  );
  return { message: error.message, details, hint: hintOf(error), exitCode: 1 };
}

function hintOf(error: ApiError): string | undefined {
  const retry = error.details?.retryAfterSeconds;
  const again = retry === undefined ? 'try again in a moment' : `try again in ${retry} s`;
  const causes = new Set(error.details?.causes?.map((cause) => cause.reason));
  switch (error.reason) {
    case 'Unauthorized':
      return 'the credentials of the kubeconfig are not known here: coppice kubeconfig says which file is used';
    case 'Forbidden':
      if (causes.has('QuotaExceeded'))
        return 'coppice get tenants -o wide shows what is used; delete something or ask an operator';
      return undefined;
    case 'NotFound':
      return error.details?.kind === 'namespaces'
        ? 'create the tenant first, or choose a namespace with -n'
        : undefined;
    case 'TooManyRequests':
    case 'ServiceUnavailable':
    case 'Timeout':
      return again;
    case 'Conflict':
      if (causes.has('FieldManagerConflict'))
        return 'take these fields with --force-conflicts, or leave them out to keep their owners';
      return 'it was changed meanwhile; try again';
    case 'InsufficientStorage':
      return 'the disk of the server is full';
    default:
      return undefined;
  }
}

/** What oclif's parser throws for flags it cannot place. */
function isUsage(error: unknown): error is Error {
  return error instanceof Error && 'oclif' in error;
}

function usageHint(error: Error): string {
  const form = /^Expected --output=(jsonpath|go-template|custom-columns)/m.exec(error.message)?.[1];
  if (form !== undefined) return `kubectl get has -o ${form}; what -o json prints is for jq and the like`;
  return 'add --help to see how the command is used';
}

/** The parser's words in ours; it puts its message in frames, tabs and several lines. */
function usageText(error: Error): string {
  const text = error.message
    .replace(/\nSee more help with --help\s*$/, '')
    .replace(/^The following errors? occurred:/, '')
    .replace(/\s+/g, ' ')
    .trim();
  for (const [pattern, words] of USAGES) {
    if (pattern.test(text)) return text.replace(pattern, words);
  }
  return text;
}

const USAGES: readonly (readonly [RegExp, string])[] = [
  [/^Nonexistent flags?: ((?:-\S+(?:, )?)+).*$/, 'there is no flag $1'],
  [/^Missing required flag (\S+).*$/, '--$1 is required'],
  [/^Parsing (--\S+) Expected (.*)$/, '$1: expected $2'],
  [/^Expected (--\w\S*?)=(.*) to be one of: (.*)$/, '$1 may be $3, and not $2'],
  [/^Flag (--\S+) expects (.*)$/, '$1 expects $2'],
];
