/** A token of the spec as a status keeps it, and its predecessors. */
export interface TokenRecord {
  readonly token: string;
  readonly formerTokens?: readonly string[];
}

/** What a status has room for. */
const maxFormerTokens = 16;

/** Whether a token was there before the last one: put back, as by a revert in Git, it requests nothing. */
export function wasUsedBefore(token: string, record: TokenRecord | undefined): boolean {
  const { token: last, formerTokens = [] } = record ?? {};
  return token !== last && formerTokens.includes(token);
}

/** The token that is there now, and its predecessors. */
export function recordToken(former: TokenRecord | undefined, token: string): TokenRecord {
  const known = former ? [...(former.formerTokens ?? []), former.token] : [];
  const formerTokens = known.filter((each) => each !== token).slice(-maxFormerTokens);
  return { token, ...(formerTokens.length > 0 && { formerTokens }) };
}
