/** Faults that are none. The message names the file, the line where there is one, the field, and what stands there. */
export class FaultsError extends Error {
  override readonly name = 'FaultsError';
}
