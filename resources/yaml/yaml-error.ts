/** Text that is no YAML, or says what JSON cannot. `line` counts from 1. */
export class YamlError extends Error {
  override readonly name = 'YamlError';
  readonly line: number | undefined;

  constructor(message: string, line?: number, options?: ErrorOptions) {
    super(message, options);
    this.line = line;
  }
}
