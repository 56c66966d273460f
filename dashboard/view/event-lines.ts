/** A server-sent event. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/** Reads server-sent events from text in arbitrary chunks: the part of the format that the dashboard sends. */
export class EventLines {
  #rest = '';

  /** The events completed by this chunk. */
  read(piece: string): readonly ServerEvent[] {
    const blocks = `${this.#rest}${piece}`.split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const fields = new Map(
        block.split('\n').map((line) => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
        }),
      );
      const data = fields.get('data');
      return data === undefined ? [] : [{ name: fields.get('event') ?? 'message', data }];
    });
  }
}
