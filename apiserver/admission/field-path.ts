import { isObject } from '../../resources/meta/object.ts';

/** A place in an object as messages name it: `spec.parts[0].name`. `''` is the object itself. */
export function childPath(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}

/** Walks a JSON pointer (RFC 6901) and answers the path's text and the value there. */
export function resolvePointer(root: unknown, pointer: string): { readonly path: string; readonly value: unknown } {
  let path = '';
  let value = root;
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(value)) {
      path += `[${name}]`;
      value = value[Number(name)];
    } else {
      path = childPath(path, name);
      value = isObject(value) ? value[name] : undefined;
    }
  }
  return { path, value };
}
