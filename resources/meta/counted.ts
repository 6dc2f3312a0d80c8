/** How many there are of something that takes an s when there are more: `1 host`, `3 hosts`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
