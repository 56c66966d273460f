import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { SyncError } from './errors.ts';

/** More than any file that an option names has: what goes on for longer is a device, or another file than was meant. */
const maxFileBytes = 4 * 1024 * 1024;

/** A file that an option names. */
export interface NamedFile {
  readonly path: string;
  /** The option, for errors: `--config`. */
  readonly option: string;
}

/** How much is read at a time: most files have less. */
const pieceBytes = 64 * 1024;

/**
 * The text of a file, also of a pipe, which is waited for, and of a device.
 * @throws SyncError InvalidOption where it cannot be read, or has more than 4 MiB.
 */
export function readTextFile(file: NamedFile): string {
  return readFrom(file, constants.O_RDONLY, readBounded);
}

/**
 * The text of a file that is read while others are served: nothing is waited for, neither a pipe nor a device.
 * @throws SyncError InvalidOption as {@link readTextFile} does, and where it is not a regular file.
 */
export function readRegularFile(file: NamedFile): string {
  // Without it, opening a pipe waits until somebody writes.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  return readFrom(file, flags, (descriptor) => {
    if (fstatSync(descriptor).isFile()) return readBounded(descriptor);
    throw invalid(file, 'is not a regular file');
  });
}

function readFrom(file: NamedFile, flags: number, read: (descriptor: number) => Buffer): string {
  let bytes: Buffer;
  try {
    const descriptor = openSync(file.path, flags);
    try {
      bytes = read(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    if (cause instanceof SyncError) throw cause;
    throw invalid(file, 'cannot be read', cause);
  }
  if (bytes.length > maxFileBytes) throw invalid(file, `has more than ${maxFileBytes} bytes`);
  return bytes.toString('utf8');
}

function invalid({ path, option }: NamedFile, problem: string, cause?: unknown): SyncError {
  return new SyncError('InvalidOption', `${option}: the file ${path} ${problem}`, { cause });
}

/** One byte more than is allowed at most. */
function readBounded(descriptor: number): Buffer {
  const pieces: Buffer[] = [];
  let length = 0;
  while (length <= maxFileBytes) {
    const piece = Buffer.alloc(Math.min(pieceBytes, maxFileBytes + 1 - length));
    const count = readSync(descriptor, piece);
    if (count === 0) break;
    pieces.push(piece.subarray(0, count));
    length += count;
  }
  return Buffer.concat(pieces);
}

/**
 * The value in a YAML file; null where it is empty.
 * @throws SyncError InvalidOption as {@link readTextFile} does, and where it is no YAML: by the place, without what stands there,
 * which may be a secret.
 */
export function readYamlFile(file: NamedFile): unknown {
  const { path, option } = file;
  const lines = new LineCounter();
  // Without a cause: what the library says of the text quotes it.
  const noYaml = (where: string): SyncError =>
    new SyncError('InvalidOption', `${option}: ${path} is not valid YAML${where}`);
  const text = readTextFile(file);
  let value: unknown;
  try {
    // What the library warns of it would write to standard error by itself: it is an error.
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
    const [problem] = [...document.errors, ...document.warnings];
    if (problem) {
      const { line, col } = lines.linePos(problem.pos[0]);
      throw noYaml(`: ${problem.code} in line ${line}, column ${col}`);
    }
    value = document.toJS();
  } catch (error) {
    if (error instanceof SyncError) throw error;
    // Too many levels, or aliases of aliases.
    throw noYaml(': it cannot be resolved');
  }
  return value;
}
