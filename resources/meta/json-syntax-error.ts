/** Text that is not JSON. `offset` counts UTF-16 units from the start, where known. */
export class JsonSyntaxError extends Error {
  readonly offset: number | undefined;

  constructor(message: string, offset?: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}
