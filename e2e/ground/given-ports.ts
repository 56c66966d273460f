/**
 * The ports that servers of this process have used. None is used twice: a program that remembers a server by its address, such as
 * an operator that has claimed a destination, would mistake the next server at that port for it.
 */
const given = new Set<number>();

/** Reserves a port. @returns false if it was used before. */
export function isNewPort(port: number): boolean {
  if (given.has(port)) return false;
  given.add(port);
  return true;
}
