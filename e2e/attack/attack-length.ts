/** The length of the attack suite: `make attack` runs all of it, and `make test` the part that finds most in little time. */
export const isLongAttack = process.env['ATTACK'] === 'long';
