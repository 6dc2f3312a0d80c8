/** A place in an object as messages name it: `spec.parts[0].name`. `''` is the object itself. */
export function childPath(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}
