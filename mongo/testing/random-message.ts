import { randomBytes } from 'node:crypto';

/** Something that is a message of MongoDB's protocol by its length. */
export function randomMessage(length: number): Buffer {
  const message = randomBytes(length);
  message.writeInt32LE(length);
  return message;
}
