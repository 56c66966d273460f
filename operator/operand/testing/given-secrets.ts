import type { OperandSecrets } from '../operand-secrets.ts';

/** What an operand that serves HTTP runs with. */
export const givenSecrets: OperandSecrets = {
  source: { kind: 'found', value: 'b2xk' },
  destination: { kind: 'found', value: 'bmV3' },
  credentials: [],
  authority: undefined,
  token: 'token',
};
