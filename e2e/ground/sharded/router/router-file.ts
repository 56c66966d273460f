/** The configuration of a router process, in a JSON file. */
export interface RouterFile {
  /** Address of the config server. */
  readonly config: string;
  readonly keyFile: string;
  /** Addresses to listen on. */
  readonly hosts: readonly string[];
  /** For each router the address of the mongod that routes for it; they take consecutive ports. */
  readonly inner: readonly string[];
}

/** What a router process writes when it takes connections. */
export const listeningText = 'the routers are listening';
