/** Names for one line, and how many more there are: `a, b, c and 4 more`. */
export function firstOf(names: readonly string[], shown: number): string {
  const first = names.slice(0, shown).join(', ');
  return names.length > shown ? `${first} and ${names.length - shown} more` : first;
}
