import assert from 'node:assert/strict';
import { MongoNetworkError, MongoServerSelectionError, type TopologyDescription } from 'mongodb';
import { attemptProblem, type ConnectionAttempt } from './connection-attempt.ts';

interface Failed {
  readonly address: string;
  readonly type?: string;
  readonly error?: Error;
}

/** As the driver (7.8) throws it. */
function selectionError(servers: readonly Failed[]): MongoServerSelectionError {
  const described = servers.map(({ address, type = 'Unknown', error = null }) => {
    return [address, { address, type, error }] as const;
  });
  const reason = { servers: new Map(described) } as unknown as TopologyDescription;
  return new MongoServerSelectionError('Server selection timed out after 5000 ms', reason);
}

function socketError(message: string, code: string): Error {
  const cause = Object.assign(new Error(message), { code });
  return new MongoNetworkError(message, { cause });
}

const attempt: ConnectionAttempt = {
  ...{ usesTls: false, hasCertificate: false, replicaSet: 'rs0', named: ['db-0:27017'] },
  greetings: new Map(),
};

const notFound = socketError('getaddrinfo ENOTFOUND db-1', 'ENOTFOUND');
const refused = socketError('connect ECONNREFUSED 10.0.0.1:27017', 'ECONNREFUSED');
const closed = new MongoNetworkError('connection <monitor> to 10.0.0.1:27017 closed');

describe('attemptProblem', () => {
  const cases: readonly (readonly [
    what: string,
    servers: readonly Failed[],
    more: Partial<ConnectionAttempt>,
    expected: RegExp | undefined,
  ])[] = [
    ['nothing is known', [], {}, undefined],
    [
      'a member is unknown here, by the name that the set has for it',
      [{ address: 'db-1:27017', error: notFound }],
      {},
      /^getaddrinfo ENOTFOUND db-1: correct the host in the configuration of the replica set \(rs\.conf\(\)\), which counts instead of the connection string, or let DNS resolve it here$/,
    ],
    [
      'a host of an SRV record is unknown',
      [{ address: 'db-1:27017', error: notFound }],
      { named: undefined },
      /correct the host in the SRV record, or in the configuration of the set/,
    ],
    [
      'no address of a name is listened on',
      [{ address: 'db-0:27017', error: socketError('', 'ECONNREFUSED') }],
      {},
      /^db-0:27017: ECONNREFUSED: correct host and port in the connection string, or start the server/,
    ],
    [
      'the members that answer are not primary, and another does not answer',
      [
        { address: 'db-1:27017', type: 'RSSecondary' },
        { address: 'db-0:27017', error: refused },
      ],
      {},
      /^connect ECONNREFUSED .+ \(db-1:27017: reached, and not primary\)$/,
    ],
    [
      'all members answer, and none is primary',
      ['db-0:27017', 'db-1:27017'].map((address) => ({ address, type: 'RSSecondary' })),
      {},
      /^db-0:27017, db-1:27017: no server is primary\. Wait for an election/,
    ],
    [
      'a router is called a replica set',
      [],
      { greetings: new Map([['db-0:27017', { setName: undefined, isRouter: true }]]) },
      /^db-0:27017 is a router, and the connection string expects replicaSet=rs0: omit replicaSet/,
    ],
    [
      'a member has answered once, and closes the connection now',
      [{ address: 'db-0:27017', error: closed }],
      { greetings: new Map([['db-0:27017', { setName: 'rs0', isRouter: false }]]) },
      /^db-0:27017 has closed the connection before it answered, .+ If it serves TLS only/,
    ],
    [
      'the network resets a connection by TLS',
      [{ address: 'db-0:27017', error: socketError('read ECONNRESET', 'ECONNRESET') }],
      { usesTls: true, hasCertificate: true },
      /^db-0:27017 has closed the connection .+ If it does not accept the certificate/,
    ],
    [
      'the network has no way there',
      [{ address: 'db-0:27017', error: socketError('connect EHOSTUNREACH', 'EHOSTUNREACH') }],
      {},
      /^db-0:27017 \(EHOSTUNREACH\): no answer\. Correct host and port/,
    ],
    [
      'a connection times out',
      [{ address: 'db-0:27017', error: new MongoNetworkError('timed out') }],
      {},
      /^db-0:27017: no answer\. Correct host and port/,
    ],
  ];
  for (const [what, servers, more, expected] of cases) {
    it(`says what to do if ${what}`, () => {
      const problem = attemptProblem(selectionError(servers), { ...attempt, ...more });
      if (expected) assert.match(problem ?? '', expected);
      else assert.equal(problem, undefined);
    });
  }
});
