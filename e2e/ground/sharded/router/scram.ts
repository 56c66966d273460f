import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { BSON, type Binary, type Document } from 'mongodb';

/** Runs one command on the connection that is to be logged in. */
export type RunOnConnection = (command: Document) => Promise<Document>;

const saltedPasswords = new Map<string, Buffer>();

/**
 * Logs in to a server as `__system`, the user that the members of a cluster are to each other: its password is the
 * content of their key file. SCRAM-SHA-256 (RFC 7677).
 */
export async function logInAsSystem(run: RunOnConnection, key: string): Promise<void> {
  const nonce = randomBytes(24).toString('base64');
  const clientFirst = `n=__system,r=${nonce}`;
  const started = await run({
    saslStart: 1,
    mechanism: 'SCRAM-SHA-256',
    payload: binary(`n,,${clientFirst}`),
    options: { skipEmptyExchange: true },
    $db: 'local',
  });
  const serverFirst = textOf(started);
  const { r = '', s = '', i = '' } = fieldsOf(serverFirst);
  if (!r.startsWith(nonce)) throw new Error('the server answers with another nonce');
  const salted = saltedPassword(key, s, Number(i));
  const withoutProof = `c=biws,r=${r}`;
  const authMessage = `${clientFirst},${serverFirst},${withoutProof}`;
  const clientKey = hmac(salted, 'Client Key');
  const signature = hmac(createHash('sha256').update(clientKey).digest(), authMessage);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
  const ended = await run({
    saslContinue: 1,
    conversationId: started['conversationId'] as unknown,
    payload: binary(`${withoutProof},p=${proof.toString('base64')}`),
    $db: 'local',
  });
  const expected = hmac(hmac(salted, 'Server Key'), authMessage).toString('base64');
  if (fieldsOf(textOf(ended))['v'] !== expected)
    throw new Error('the server does not know the key');
}

function saltedPassword(password: string, salt: string, iterations: number): Buffer {
  const known = `${salt} ${iterations}`;
  let salted = saltedPasswords.get(known);
  if (salted === undefined) {
    salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), iterations, 32, 'sha256');
    saltedPasswords.set(known, salted);
  }
  return salted;
}

function binary(text: string): Binary {
  return new BSON.Binary(Buffer.from(text));
}

function textOf(answer: Document): string {
  return Buffer.from((answer['payload'] as Binary).buffer).toString();
}

function fieldsOf(text: string): Partial<Record<string, string>> {
  return Object.fromEntries(
    text.split(',').map((field) => [field.charAt(0), field.slice(2)] as const),
  );
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
