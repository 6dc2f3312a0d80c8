/** Why a request failed, in Kubernetes' closed list (k8s.io/apimachinery/pkg/apis/meta/v1, StatusReason). */
export type Reason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Expired'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  | 'Invalid'
  | 'TooManyRequests'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'Timeout'
  | 'InsufficientStorage';

const CODES: Record<Reason, number> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
  InsufficientStorage: 507,
};

/** One cause: a field that is wrong (`FieldValueInvalid`, …) or a refusal of ours (`QuotaExceeded`, …). */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  /** The plural resource, but for Invalid, where it is the Kind. */
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly Cause[];
  readonly retryAfterSeconds?: number;
}

/** The wire form of a failure (or of a deletion that succeeded). */
export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: { readonly continue?: string };
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code?: number;
}

/** The one error of the API: thrown by the server's verbs, and by the client from the Status it was answered. */
export class ApiError extends Error {
  readonly reason: Reason;
  readonly code: number;
  readonly details: StatusDetails | undefined;
  /** A fresh continue token, with `Expired` lists. */
  readonly continueToken: string | undefined;
  /** What the server warns of besides. */
  readonly warnings: readonly string[];
  readonly #reasonless: boolean;

  constructor(
    reason: Reason,
    message: string,
    options: ErrorOptions & {
      details?: StatusDetails;
      code?: number;
      continueToken?: string;
      warnings?: readonly string[];
      /** The Status gives no reason, as the real server's does where an error of its own came through. */
      reasonless?: boolean;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ApiError';
    this.reason = reason;
    this.code = options.code ?? CODES[reason];
    this.details = options.details;
    this.continueToken = options.continueToken;
    this.warnings = options.warnings ?? [];
    this.#reasonless = options.reasonless === true;
  }

  toStatus(): Status {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.#reasonless ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }

  /** The error a Status stands for. `httpCode` serves where the body gives none. */
  static fromStatus(status: Partial<Status>, httpCode: number): ApiError {
    const code = status.code ?? httpCode;
    const known = (Object.keys(CODES) as Reason[]).find((r) => r === status.reason);
    const byCode = (Object.keys(CODES) as Reason[]).find((r) => CODES[r] === code);
    return new ApiError(known ?? byCode ?? 'InternalError', status.message ?? `the server answered ${code}`, {
      code,
      ...(status.details === undefined ? {} : { details: status.details }),
      ...(status.metadata?.continue === undefined ? {} : { continueToken: status.metadata.continue }),
    });
  }
}

/** Names of a resource, as error messages use them. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
}

/** `widgets.demo.example.com`, or `namespaces` in the core group. */
export function qualified(resource: ResourceName): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

const detailsOf = (resource: ResourceName, name?: string): StatusDetails => ({
  ...(name === undefined ? {} : { name }),
  ...(resource.group === '' ? {} : { group: resource.group }),
  kind: resource.plural,
});

export function notFound(resource: ResourceName, name: string): ApiError {
  return new ApiError('NotFound', `${qualified(resource)} "${name}" not found`, { details: detailsOf(resource, name) });
}

export function alreadyExists(resource: ResourceName, name: string, prefix = ''): ApiError {
  return new ApiError('AlreadyExists', `${prefix}${qualified(resource)} "${name}" already exists`, {
    details: detailsOf(resource, name),
  });
}

export function conflict(
  resource: ResourceName,
  name: string,
  why = 'the object has been modified; please apply your changes to the latest version and try again',
): ApiError {
  return new ApiError('Conflict', `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`, {
    details: detailsOf(resource, name),
  });
}

/** A refusal by a rule: 403, with the rule's own cause reason when it has one. */
export function forbidden(resource: ResourceName, name: string | undefined, why: string, cause?: Cause): ApiError {
  const quoted = name === undefined || name === '' ? '' : ` "${name}"`;
  return new ApiError('Forbidden', `${qualified(resource)}${quoted} is forbidden: ${why}`, {
    details: { ...detailsOf(resource, name), ...(cause === undefined ? {} : { causes: [cause] }) },
  });
}

/** Validation failed: 422 with a cause a field, in the form kubectl prints as a list. */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  name: string,
  causes: readonly Cause[],
): ApiError {
  const what = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const lines = causes.map((c) => `${c.field ?? '<nil>'}: ${c.message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return new ApiError('Invalid', `${what} "${name}" is invalid: ${text}`, {
    details: {
      ...(name === '' ? {} : { name }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      ...(kind.kind === '' ? {} : { kind: kind.kind }),
      causes,
    },
  });
}

/** 405, in the words clients know. */
export function notAllowed(): ApiError {
  return new ApiError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });
}

/** 405 for a custom kind, which names what was tried (empty: no verb at all). */
export function notSupported(resource: ResourceName, verb: string): ApiError {
  return new ApiError('MethodNotAllowed', `${verb} is not supported on resources of kind "${qualified(resource)}"`, {
    details: detailsOf(resource),
  });
}
