declare module 'mongodb/lib/cmap/commands.js' {
  /** An OP_MSG section of kind 1. */
  export class DocumentSequence {
    constructor(field: string);
    /** Adds one document; only the bytes are sent. */
    push(document: object, buffer: Uint8Array): number;
  }
}
