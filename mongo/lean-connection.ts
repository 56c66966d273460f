// The driver's own class for connections; it is internal, so the driver's version is pinned and
// lean-connection.test.ts guards the shape.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import {
  Connection,
  type ConnectionOptions,
  type Message,
  type WriteOptions,
} from 'mongodb/lib/cmap/connection.js';
import { readMessages } from './message-reader.ts';
import { RawValue } from './raw-value.ts';

/** From this size on, a value is worth being sent from where it lies. */
const largeBytes = 64 * 1024;

/**
 * A connection that copies less. It sends a large raw value of a command from where it lies; the driver's own copies it four
 * times: into the serialized command, out of that, and into the message. It reads answers into the memory that they are
 * kept in.
 */
export class LeanConnection extends Connection {
  constructor(socket: Socket, options: ConnectionOptions) {
    super(socket, options);
    const { messageStream } = this;
    readMessages(socket, messageStream, {
      take: (message) => messageStream.push(message),
      onBytes: () => {
        if (this.delayedTimeoutId !== null) clearTimeout(this.delayedTimeoutId);
        this.delayedTimeoutId = null;
      },
      fail: (error) => {
        this.cleanup(error);
      },
    });
  }

  protected override async writeCommand(message: Message, options: WriteOptions): Promise<void> {
    const large = largeValueOf(message);
    if (!large || options.agreedCompressor !== 'none' || options.timeoutContext?.csotEnabled()) {
      await super.writeCommand(message, options);
      return;
    }
    const { head, tail } = await aroundValue(large, message);
    this.socket.cork();
    this.socket.write(head);
    this.socket.write(large.bytes);
    this.socket.uncork();
    // A large message takes time, and the network whatever is handed over, also from a process that was frozen meanwhile.
    if (this.socket.writableNeedDrain) await once(this.socket, 'drain');
    this.assertMaySend();
    // Waits until the network has taken everything.
    await super.writeCommand({ toBin: () => [tail] }, options);
  }

  /** Called before the end of a large command is sent, without which a server does nothing of it: may throw. */
  protected assertMaySend(): void {
    // Whatever was begun is sent.
  }
}

function largeValueOf({ command }: Message): RawValue | undefined {
  return Object.values(command ?? {}).find(
    (value): value is RawValue => value instanceof RawValue && value.bytes.length >= largeBytes,
  );
}

/** Message header, flags and the kind of the first section, which is the command. */
const commandOffset = 16 + 4 + 1;

/** What goes before the value and after it, for it to be the command's last field. */
async function aroundValue(
  { name, type, bytes }: RawValue,
  message: Message,
): Promise<{ head: Buffer; tail: Buffer }> {
  const { [name]: _value, ...others } = message.command ?? {};
  message.command = others;
  const rest = Buffer.concat(await message.toBin());
  const commandEnd = commandOffset + rest.readInt32LE(commandOffset) - 1;
  const field = Buffer.from(`_${name}\0`);
  field[0] = type;
  const head = Buffer.concat([rest.subarray(0, commandEnd), field]);
  const added = field.length + bytes.length;
  for (const lengthOffset of [0, commandOffset])
    head.writeInt32LE(rest.readInt32LE(lengthOffset) + added, lengthOffset);
  return { head, tail: rest.subarray(commandEnd) };
}
