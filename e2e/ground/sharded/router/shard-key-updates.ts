import { randomUUID } from 'node:crypto';
import { Long, UUID, type Document } from 'mongodb';
import { elementsOf, RawWriter, type RawDocument } from '../../../../mongo/raw-bson.ts';
import { CommandFailure, errorCodes } from './command-failure.ts';
import { transactionNumberOf, type CommandRequest, type RouterState } from './router-state.ts';
import { runInTransaction, statementsOf } from './transactions.ts';
import { decode, decodeExactly, encode } from './wire.ts';

/** How often an update of a shard key is tried, where others change the same document or its chunk moves. */
const maxTries = 20;

interface WriteError extends Document {
  readonly index: number;
  readonly code: number;
}

/**
 * Completes a retryable batch of updates. Those that change the value of a shard key are refused by the inner router,
 * as it does not see that they are retryable; they are carried out here, each in a transaction, as a router does it.
 */
export async function updateShardKeys(
  state: RouterState,
  request: CommandRequest,
  firstAnswer: RawDocument,
  runRest: (request: CommandRequest) => Promise<RawDocument>,
): Promise<RawDocument> {
  if (request.name !== 'update' || !errorsOf(firstAnswer).some(isOfShardKey)) return firstAnswer;
  const statements = statementsOf(request, 'updates');
  const isOrdered = decode(request.body)['ordered'] !== false;
  const total = { n: 0, nModified: 0, upserted: [] as Document[], writeErrors: [] as Document[] };
  const add = (answer: Document, offset: number): void => {
    total.n += Number(answer['n']);
    total.nModified += Number(answer['nModified'] ?? 0);
    for (const row of (answer['upserted'] ?? []) as Document[]) {
      total.upserted.push({ ...row, index: Number(row['index']) + offset });
    }
  };
  let answer = firstAnswer;
  for (let offset = 0; ;) {
    add(decodeExactly(answer), offset);
    let next = statements.length;
    for (const error of errorsOf(answer)) {
      const index = error.index + offset;
      const statement = statements[index];
      if (!isOfShardKey(error) || statement === undefined) {
        total.writeErrors.push({ ...error, index });
        continue;
      }
      try {
        add(await updateInTransaction(state, request, statement), index);
        if (isOrdered) next = index + 1;
      } catch (failed) {
        if (!(failed instanceof CommandFailure)) throw failed;
        total.writeErrors.push({ index, code: failed.code, errmsg: failed.message });
      }
    }
    if (next >= statements.length) break;
    offset = next;
    answer = await runRest(withStatements(request, statements.slice(offset)));
  }
  const { upserted, writeErrors, ...counts } = total;
  return encode({
    ...counts,
    ...(upserted.length > 0 && { upserted }),
    ...(writeErrors.length > 0 && { writeErrors }),
    ok: 1,
  });
}

function errorsOf(answer: RawDocument): readonly WriteError[] {
  if (!elementsOf(answer).some(({ name }) => name === 'writeErrors')) return [];
  return decode(answer)['writeErrors'] as WriteError[];
}

function isOfShardKey({ code, errmsg }: WriteError): boolean {
  return (
    code === errorCodes.IllegalOperation &&
    String(errmsg).startsWith('Must run update to shard key field')
  );
}

/** The same command with other updates. */
function withStatements(
  request: CommandRequest,
  documents: readonly RawDocument[],
  fields: Document = {},
): CommandRequest {
  const writer = new RawWriter(request.body.length + 256);
  for (const element of elementsOf(request.body)) {
    if (element.name !== 'updates' && !(element.name in fields))
      writer.value(element.name, element);
  }
  for (const element of elementsOf(encode(fields))) writer.value(element.name, element);
  return { ...request, body: writer.finish(), sequences: [{ field: 'updates', documents }] };
}

async function updateInTransaction(
  state: RouterState,
  request: CommandRequest,
  statement: RawDocument,
): Promise<Document> {
  for (let attempt = 1; ; attempt++) {
    const common = { lsid: { id: new UUID(randomUUID()) }, txnNumber: Long.ONE, autocommit: false };
    const update = withStatements(request, [statement], {
      ...common,
      ...{ startTransaction: true, writeConcern: undefined },
    });
    const end = async (name: string): Promise<Document> => {
      const body = encode({ [name]: 1, ...common, writeConcern: { w: 'majority' }, $db: 'admin' });
      return await runInTransaction(state, { ...update, name, body, sequences: [] });
    };
    try {
      const answer = (await runInTransaction(state, update)) as Document;
      const [error] = (answer['writeErrors'] ?? []) as Document[];
      if (error) throw new CommandFailure({ ok: 0, ...error });
      const committed = await end('commitTransaction');
      if (committed['ok'] !== 1) throw new CommandFailure(committed);
      state.transactions.delete(transactionNumberOf(update.body)?.session ?? '');
      return answer;
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      await end('abortTransaction');
      const labels: unknown = error.answer['errorLabels'];
      const isPassing = Array.isArray(labels) && labels.includes('TransientTransactionError');
      if (!isPassing || attempt >= maxTries) throw error;
    }
  }
}
