/** A file of the pki folder holds something else. The message names the file and what belongs there, and tells nothing of what it holds. */
export class BadKeyFileError extends Error {
  constructor(path: string, wanted: string, options?: ErrorOptions) {
    super(`${path} ${wanted}`, options);
    this.name = 'BadKeyFileError';
  }
}
