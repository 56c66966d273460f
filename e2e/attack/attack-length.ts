/** How long the suite of attacks is: `make attack` runs all of it, and `make test` what finds most in little time. */
export const isLongAttack = process.env['ATTACK'] === 'long';
