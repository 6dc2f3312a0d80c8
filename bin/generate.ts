// Writes the files that follow from the kinds. The test of manifests/crds holds the committed ones to what this writes.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dump } from 'js-yaml';
import { BUILT_IN_KINDS } from '../resources/kinds.ts';
import { crdOf } from '../resources/meta/crd-of.ts';

const HEADER = '# Generated from resources/kinds by `npm run generate`; edit the kind instead.\n';

/** The text of every generated file, by its path in the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const ours = BUILT_IN_KINDS.filter((kind) => kind.origin === 'coppice');
  return new Map(
    ours.map((kind) => [
      `manifests/crds/${kind.plural}.yaml`,
      HEADER + dump(crdOf(kind), { lineWidth: 120, noRefs: true, quoteStyle: 'double' }),
    ]),
  );
}

if (import.meta.main) {
  for (const [path, text] of generatedFiles()) {
    const file = join(import.meta.dirname, '..', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
