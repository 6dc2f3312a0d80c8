import type { CustomResourceDefinition, DefinitionNames } from '../../resources/kinds/custom-resource-definition.ts';
import type { Kind } from '../../resources/meta/define-kind.ts';

/** The names others in a group go by. */
export interface TakenNames {
  /** Plurals, singulars and short names. */
  readonly resources: ReadonlySet<string>;
  /** Kinds and kinds of lists. */
  readonly kinds: ReadonlySet<string>;
}

interface NamesVerdict {
  readonly accepted: DefinitionNames;
  /** The last name that was not accepted, if any. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined;
}

/** The names of kinds that the server has built in, and of the definitions of a group besides the one called `except`. */
export function takenNames(
  group: string,
  except: string,
  builtIn: readonly Kind[],
  definitions: Iterable<CustomResourceDefinition>,
): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  const take = (names: DefinitionNames) => {
    for (const name of [names.plural, names.singular, ...(names.shortNames ?? [])]) if (name) resources.add(name);
    for (const name of [names.kind, names.listKind]) if (name) kinds.add(name);
  };
  for (const kind of builtIn) if (kind.group === group) take(kind);
  for (const { metadata, spec, status } of definitions) {
    if (spec.group !== group || metadata.name === except || status?.acceptedNames === undefined) continue;
    take(status.acceptedNames);
  }
  return { resources, kinds };
}

/** Which of the names a definition asks for it gets; where one is taken it keeps what it had. */
export function acceptNames({ spec, status }: CustomResourceDefinition, taken: TakenNames): NamesVerdict {
  const had = status?.acceptedNames;
  let conflict: NamesVerdict['conflict'];
  const free = (names: readonly (string | undefined)[], among: ReadonlySet<string>, what: string): boolean => {
    const clash = names.find((name) => name !== undefined && among.has(name));
    if (clash === undefined) return true;
    conflict = { reason: `${what}Conflict`, message: `"${clash}" is already in use` };
    return false;
  };
  const { plural, singular, shortNames, kind, listKind, categories } = spec.names;
  const accepted = {
    plural: free([plural], taken.resources, 'Plural') ? plural : (had?.plural ?? ''),
    singular: free([singular], taken.resources, 'Singular') ? singular : had?.singular,
    shortNames: free(shortNames ?? [], taken.resources, 'ShortNames') ? shortNames : had?.shortNames,
    kind: free([kind], taken.kinds, 'Kind') ? kind : (had?.kind ?? ''),
    listKind: free([listKind], taken.kinds, 'ListKind') ? listKind : had?.listKind,
    categories,
  };
  return { accepted: withoutAbsent(accepted), conflict };
}

type Loose<T> = { readonly [K in keyof T]: T[K] | undefined };

function withoutAbsent({ plural, kind, ...rest }: Loose<DefinitionNames> & Pick<DefinitionNames, 'plural' | 'kind'>) {
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { plural, kind, ...Object.fromEntries(given) } as DefinitionNames;
}
