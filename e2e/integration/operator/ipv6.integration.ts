import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { run } from '../../ground/command.ts';
import { defaultDeadlineMs } from '../../ground/default-deadline.ts';
import { documentCount, type Outcome } from './migrate-by-ipv6.ts';

const program = fileURLToPath(new URL('migrate-by-ipv6.ts', import.meta.url));

/**
 * As in a pod of a cluster with IPv6 alone: only the loopback interface has an IPv4 address, which the tests use for their own
 * questions to the servers. A default route is needed by kube-apiserver.
 */
const onlyIPv6 = `
set -e
ip link set lo up
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip link set eth1 up
for address in fd00:c1::1 fd00:c1::2; do ip addr add $address/64 dev eth0 nodad; done
ip -6 route add default via fd00:c1::ff dev eth0
exec "$@"
`;

describe('a network with IPv6 alone', () => {
  it('is enough to migrate, commit and verify: operator, API server, syncer, verifier and databases', async () => {
    const args = ['--net', 'bash', '-c', onlyIPv6, 'bash', process.execPath, program];
    // Each of its waits has the default deadline.
    const output = await run('unshare', args, { deadlineMs: 3 * defaultDeadlineMs });
    const outcome = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '') as Outcome;
    assert.deepEqual(outcome, {
      verdict: 'Equal',
      documentsCompared: documentCount,
      directionMapping: outcome.directionMapping,
      servedFor: ['syncer', 'verifier', 'operator'],
    });
    const hosts = Object.values(outcome.directionMapping);
    assert.equal(hosts.length, 2);
    for (const host of hosts) assert.match(host, /\[fd00:c1::1\]:\d+/);
  });
});
