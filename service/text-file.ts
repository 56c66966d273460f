import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { LineCounter, parseDocument } from 'yaml';
import { SyncError } from './errors.ts';

/** More than any file that an option names has: anything longer is a device, or the wrong file. */
const maxFileBytes = 4 * 1024 * 1024;

/** A file that an option names. */
export interface NamedFile {
  readonly path: string;
  /** The option, for errors: `--config`. */
  readonly option: string;
}

/** How much to read at a time: most files have less. */
const pieceBytes = 64 * 1024;

/**
 * The text of a file, or of a pipe, which it waits for, or a device.
 * @throws SyncError InvalidOption if it cannot be read, or has more than 4 MiB.
 */
export function readTextFile(file: NamedFile): string {
  return readFrom(file, constants.O_RDONLY, readBounded);
}

/**
 * The text of a file that is read while others are served: it waits for nothing, neither a pipe nor a device.
 * @throws SyncError InvalidOption as {@link readTextFile} does, and if it is not a regular file.
 */
export function readRegularFile(file: NamedFile): string {
  // Without O_NONBLOCK, opening a pipe waits until somebody writes.
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

/** Reads up to one byte more than is allowed. */
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
 * The value in a YAML file; null if it is empty.
 * @throws SyncError InvalidOption as {@link readTextFile} does, and if it is not YAML: with the place, but without the text
 * there, which may be a secret.
 */
export function readYamlFile(file: NamedFile): unknown {
  const { path, option } = file;
  const lines = new LineCounter();
  // Without a cause: the library's message quotes the text.
  const noYaml = (where: string): SyncError =>
    new SyncError('InvalidOption', `${option}: ${path} is not valid YAML${where}`);
  const text = readTextFile(file);
  let value: unknown;
  try {
    // The library would write its warnings to standard error: they count as errors.
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
