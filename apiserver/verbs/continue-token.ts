import { ApiError } from '../../resources/meta/api-error.ts';
import { parseJson } from '../../resources/meta/json.ts';
import { isObject } from '../../resources/meta/object.ts';

/** Where a paged list goes on. Without a revision it goes on in the newest state: an inconsistent remainder. */
interface ContinueToken {
  readonly revision?: number;
  /** The key of the last object already given. */
  readonly after: string;
}

/** Opaque to clients: base64url of a versioned JSON. */
export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(JSON.stringify({ v: 'coppice/1', rv: token.revision ?? -1, start: token.after })).toString(
    'base64url',
  );
}

export function decodeContinue(text: string): ContinueToken {
  try {
    const odd = /[^A-Za-z0-9_-]/.exec(text)?.index;
    if (odd !== undefined) throw new Error(`illegal base64 data at input byte ${odd}`);
    // A token of ours is ASCII; another's bytes are told one by one.
    const parsed = parseJson(Buffer.from(text, 'base64url').toString('latin1')).value;
    if (
      isObject(parsed) &&
      parsed.v === 'coppice/1' &&
      typeof parsed.start === 'string' &&
      Number.isSafeInteger(parsed.rv)
    ) {
      const rv = parsed.rv as number;
      return rv < 0 ? { after: parsed.start } : { revision: rv, after: parsed.start };
    }
    throw new Error('it has not the form this server gives');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ApiError('BadRequest', `invalid continue token: continue key is not valid: ${why}`, { cause });
  }
}
