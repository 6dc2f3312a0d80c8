// A start loads some hundred files of ours, and finding each as any module could be found (every package.json above it, symbolic links, other
// extensions) takes longer than compiling it. Ours name each other by relative paths, whole, so there is nothing to find.
import { registerHooks } from 'node:module';

/** How files are taken by their extensions: the sources' in a checkout, and what they compile to in a package, where all is of modules. */
const FORMATS = new Map([
  ['.ts', 'module-typescript'],
  ['.js', 'module'],
]);
const OURS = new URL('../', import.meta.url).href;
const THEIRS = new URL('../node_modules/', import.meta.url).href;

/** From now on, in this thread. */
export function importQuickly() {
  registerHooks({ resolve });
}

function resolve(specifier, context, next) {
  const { parentURL = '' } = context;
  const format = specifier.startsWith('.') ? FORMATS.get(specifier.slice(-3)) : undefined;
  if (format === undefined || !parentURL.startsWith(OURS) || parentURL.startsWith(THEIRS))
    return next(specifier, context);
  return { url: new URL(specifier, parentURL).href, format, shortCircuit: true };
}
