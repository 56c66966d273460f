declare module 'mongodb/lib/cmap/commands.js' {
  /** An OP_MSG section of kind 1. */
  export class DocumentSequence {
    constructor(field: string);
    /** Adds one document; only the bytes are sent. */
    push(document: object, buffer: Uint8Array): number;
  }
}

declare module 'mongodb/lib/cmap/connection.js' {
  export interface CommandOptions {
    readonly signal?: AbortSignal;
    /** How long the connection may say nothing; 0: for ever. */
    readonly socketTimeoutMS?: number;
    readonly raw?: boolean;
    /** Where the answer has documents; with `raw`, only these are left as bytes when an answer is read here. */
    readonly documentsReturnedIn?: string;
  }

  /** A connection of a client's pool: one command at a time. */
  export class Connection {
    command(
      namespace: unknown,
      command: object,
      options?: CommandOptions,
      responseType?: unknown,
    ): Promise<unknown>;
  }
}
