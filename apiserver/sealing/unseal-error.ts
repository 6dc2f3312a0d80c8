/** A sealed value that cannot be opened. The message says why and holds nothing of it. */
export class UnsealError extends Error {
  /** Whose it says it is; not proven. */
  readonly uid: string | undefined;

  constructor(message: string, uid?: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnsealError';
    this.uid = uid;
  }
}
