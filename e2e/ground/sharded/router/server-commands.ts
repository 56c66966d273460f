import { Long, type Document } from 'mongodb';
import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import { succeeded, withoutServerFields } from './command-failure.ts';
import { Privileges } from './privileges.ts';
import {
  commandOf,
  onCluster,
  onDatabase,
  type CommandRequest,
  type CommandTable,
  type RouterCommand,
  type RouterState,
} from './router-state.ts';
import { decode, encode } from './wire.ts';

const greeting: RouterCommand = { run: hello };

/** The commands about the connection, the router and the users. */
export const serverCommands: CommandTable = {
  hello: greeting,
  isMaster: greeting,
  ismaster: greeting,
  ping: { run: () => Promise.resolve({ ok: 1 }) },
  isdbgrid: { run: () => Promise.resolve({ isdbgrid: 1, hostname: '127.0.0.1', ok: 1 }) },
  buildInfo: { run: ofInner },
  buildinfo: { run: ofInner },
  endSessions: { run: () => Promise.resolve({ ok: 1 }) },
  saslStart: { run: logIn },
  saslContinue: { run: logIn },
  connectionStatus: {
    run(_state, request) {
      const { showPrivileges } = commandOf(request);
      const status = request.session.login?.connectionStatus ?? {
        authInfo: {
          authenticatedUsers: [],
          authenticatedUserRoles: [],
          authenticatedUserPrivileges: [],
        },
        ok: 1,
      };
      if (showPrivileges === true) return Promise.resolve(status);
      const { authenticatedUserPrivileges: _privileges, ...authInfo } = status[
        'authInfo'
      ] as Document;
      return Promise.resolve({ ...status, authInfo });
    },
  },
  serverStatus: {
    needs: onCluster('serverStatus'),
    async run(state, request) {
      const answer = decode(await ofInner(state, request));
      const { version, localTime, sharding } = succeeded(answer);
      return {
        version: version as unknown,
        process: 'mongos',
        pid: Long.fromNumber(process.pid),
        uptime: Math.floor(process.uptime()),
        localTime: localTime as unknown,
        sharding: sharding as unknown,
        ok: 1,
      };
    },
  },
  appendOplogNote: {
    needs: onCluster('appendOplogNote'),
    async run({ cluster }, request) {
      const command = commandOf(request);
      const shards = [...(await cluster.shards(request.signal)).keys()];
      const answers = await Promise.all(
        shards.map(async (shard) => {
          return [shard, await cluster.run({ shard }, command, request.signal)] as const;
        }),
      );
      const raw = answers.map(([shard, answer]) => [shard, withoutServerFields(answer)] as const);
      return { raw: Object.fromEntries(raw), ok: 1 };
    },
  },
  hostInfo: { needs: onCluster('hostInfo'), run: ofInner },
  flushRouterConfig: { needs: onCluster('flushRouterConfig'), run: ofInner },
  createUser: { needs: onDatabase('createUser'), run: onConfigServer },
  dropUser: { needs: onDatabase('dropUser'), run: onConfigServer },
  usersInfo: { needs: onDatabase('viewUser'), run: onConfigServer },
  createRole: { needs: onDatabase('createRole'), run: onConfigServer },
  dropRole: { needs: onDatabase('dropRole'), run: onConfigServer },
};

/** What a router says of itself, and takes note of what a client says; the last field is of the versions whose commands the server has. */
async function hello(
  { cluster, processId }: RouterState,
  request: CommandRequest,
): Promise<Document> {
  const { saslSupportedMechs, client } = commandOf(request);
  if (client !== undefined) request.session.clientMetadata ??= client as Document;
  const ask = { hello: 1, saslSupportedMechs: saslSupportedMechs as unknown, $db: 'admin' };
  const config = await cluster.run('config', ask, request.signal);
  return {
    [request.name === 'hello' ? 'isWritablePrimary' : 'ismaster']: true,
    helloOk: true,
    msg: 'isdbgrid',
    maxBsonObjectSize: config['maxBsonObjectSize'] as unknown,
    maxMessageSizeBytes: config['maxMessageSizeBytes'] as unknown,
    maxWriteBatchSize: config['maxWriteBatchSize'] as unknown,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: config['logicalSessionTimeoutMinutes'] as unknown,
    minWireVersion: config['minWireVersion'] as unknown,
    maxWireVersion: config['maxWireVersion'] as unknown,
    readOnly: false,
    connectionId: request.session.connectionId,
    topologyVersion: { processId, counter: Long.ZERO },
    saslSupportedMechs: config['saslSupportedMechs'] as unknown,
    ok: 1,
  };
}

/** The users of a cluster are on its config server: it takes part in the log-in itself, and says what the user may do. */
async function logIn(_state: RouterState, { session, body }: CommandRequest): Promise<Document> {
  const answer = await session.runLogin(body);
  if (answer['ok'] !== 1 || answer['done'] !== true) return withoutServerFields(answer);
  const ask = encode({ connectionStatus: 1, showPrivileges: true, $db: 'admin' });
  const connectionStatus = withoutServerFields(succeeded(await session.runLogin(ask)));
  session.login = { connectionStatus, privileges: new Privileges(connectionStatus) };
  return withoutServerFields(answer);
}

async function ofInner(
  { cluster, inner }: RouterState,
  request: CommandRequest,
): Promise<RawDocument> {
  return await cluster.sendTo(inner, request.body, request.signal);
}

async function onConfigServer(
  { cluster }: RouterState,
  request: CommandRequest,
): Promise<RawDocument> {
  const address = await cluster.addressOf('config', request.signal);
  return await cluster.sendTo(address, request.body, request.signal);
}
