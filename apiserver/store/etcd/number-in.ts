import type { FieldReader } from './field-reader.ts';

/** The number at the end of a path of fields; 0 where it is not there. */
export function numberIn(reader: FieldReader, [wanted, ...rest]: readonly number[]): number {
  let value = 0;
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== wanted) reader.skip();
    else value = rest.length === 0 ? reader.number() : numberIn(reader.message(), rest);
  }
  return value;
}
