/**
 * The ports that servers of this process had. None is given twice: who remembers a server by its address, as an operator does
 * that has claimed a destination, would take the next one at that port for it.
 */
const given = new Set<number>();

/** Whether nobody had the port before; from now on somebody has. */
export function isNewPort(port: number): boolean {
  if (given.has(port)) return false;
  given.add(port);
  return true;
}
