import assert from 'node:assert/strict';
import { MongoServerSelectionError, type TopologyDescription } from 'mongodb';
import { noMemberError } from './no-member-error.ts';

/** As the driver (7.8) throws it when none of these members may be read. */
function selectionError(...areDataBearing: readonly boolean[]): MongoServerSelectionError {
  const servers = areDataBearing.map(
    (isDataBearing, index) => [`db-${index}:27017`, { isDataBearing }] as const,
  );
  const reason = { servers: new Map(servers) } as unknown as TopologyDescription;
  return new MongoServerSelectionError('Server selection timed out after 10000 ms', reason);
}

describe('noMemberError', () => {
  it('names the read preference when only other members can be reached', () => {
    const error = noMemberError(selectionError(false, true), 'secondary');
    assert.equal(error?.name, 'ClusterUnreachable');
    assert.match(error.message, /with the read preference secondary: .* more than 90 s behind/);
  });

  it('leaves a deployment that is down, one without a primary, and other errors as they are', () => {
    assert.equal(noMemberError(selectionError(false, false), 'secondary'), undefined);
    assert.equal(noMemberError(selectionError(true), 'primary'), undefined);
    assert.equal(noMemberError(new Error('refused'), 'secondary'), undefined);
  });
});
