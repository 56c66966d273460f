import { Binary, type Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';

/** Servers have 10,000 and 15,000 by default; RFC 7677 requires the fewest, and the most take a second. */
const iterationRange = { fewest: 4_096, most: 1_000_000 };

/** The longest text that a server sends in a login. */
const maxPayloadBytes = 16 * 1024;

/**
 * Checks a server's answer to the first message of a SCRAM login, before the driver (7.8) computes for as long as it says:
 * nothing interrupts that, not even the end of the process.
 * @throws SyncError AuthenticationFailed if it is not such an answer, or asks for more work than any login takes.
 */
export function checkLogin(command: Document, answer: Document): void {
  const { mechanism } = command['saslStart']
    ? command
    : ((command['speculativeAuthenticate'] as Document | undefined) ?? {});
  const said = command['saslStart']
    ? answer
    : (answer['speculativeAuthenticate'] as Document | undefined);
  if (!said || !String(mechanism).startsWith('SCRAM-') || said['done'] === true) return;
  const payload: unknown = said['payload'];
  const bytes = payload instanceof Binary ? payload.value() : payload;
  const text =
    bytes instanceof Uint8Array && bytes.length <= maxPayloadBytes
      ? Buffer.from(bytes).toString('utf8')
      : '';
  const [, digits] = /^r=[^,]+,s=[^,]+,i=(\d{1,10})(?:,|$)/.exec(text) ?? [];
  if (digits === undefined)
    throw refused('the server does not answer the login according to SCRAM');
  const { fewest, most } = iterationRange;
  if (Number(digits) < fewest || Number(digits) > most)
    throw refused(`the server asks for ${digits} rounds in the login, not ${fewest} to ${most}`);
}

function refused(text: string): SyncError {
  return new SyncError('AuthenticationFailed', text);
}
