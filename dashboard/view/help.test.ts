import assert from 'node:assert/strict';
import { differencesHelp, docsAddress, helpAddress, verificationHelp } from './help.ts';

const docsUrl = 'https://docs.example.dev/{page}.html';

describe('what to do about a condition', () => {
  const addressOf = (type: string, status: string, reason: string): string | undefined =>
    helpAddress({ type, status, reason }, docsUrl);

  it('is on the page of its reason', () => {
    const start = 'https://docs.example.dev';
    assert.equal(
      addressOf('Stalled', 'True', 'OplogRolledOver'),
      `${start}/runbooks/oplog-rolled-over.html`,
    );
    assert.equal(
      addressOf('Ready', 'False', 'ClusterUnreachable'),
      `${start}/troubleshooting.html#it-waits`,
    );
    assert.equal(
      addressOf('Stalled', 'True', 'DuplicateIds'),
      `${start}/troubleshooting.html#the-sync-has-stopped`,
    );
  });

  it('fills each place for the page', () => {
    const condition = { type: 'Ready', status: 'False', reason: 'CertificateNotTrusted' };
    assert.equal(
      helpAddress(condition, 'https://docs.example.dev/{page}.html?of={page}'),
      'https://docs.example.dev/tls.html?of=tls#https-for-the-syncers-and-the-verifiers',
    );
  });

  it('is on the page of the condition, if its reason has none', () => {
    assert.match(addressOf('Stalled', 'True', 'toString') ?? '', /runbooks\/sync-stalled\.html$/);
    assert.match(
      addressOf('SecretProblem', 'True', 'CertificateExpiresSoon') ?? '',
      /runbooks\/secret-problem\.html$/,
    );
  });

  it('is nothing while nobody has to act', () => {
    for (const [type, status, reason] of [
      ['Ready', 'True', 'InSync'],
      ['Ready', 'False', 'InitialCopy'],
      // These are ordinary, unless they take long.
      ['Ready', 'False', 'Committing'],
      ['Ready', 'False', 'CatchingUp'],
      ['Ready', 'False', 'toString'],
      ['Reconciling', 'True', 'ClusterUnreachable'],
      ['Committed', 'False', 'ClusterUnreachable'],
    ] as const)
      assert.equal(addressOf(type, status, reason), undefined, `${type} ${reason}`);
  });

  it('is nowhere without the address of the documentation', () => {
    const stalled = { type: 'Stalled', status: 'True', reason: 'OplogRolledOver' };
    assert.equal(helpAddress(stalled, null), undefined);
  });
});

describe('what to do about a verification', () => {
  const pageOf = (reason: string | null): string | undefined =>
    verificationHelp(reason, 'at/{page}');

  it('is on the page of its reason, if that is not only about syncs', () => {
    assert.deepEqual(
      ['CheckFailed', 'NothingToCompare', 'SecretNotFound', 'AuthenticationFailed'].map(pageOf),
      [
        ...['at/runbooks/verification-stalled', 'at/runbooks/verification-stalled'],
        ...['at/runbooks/secret-problem', 'at/guide#users-and-roles'],
      ],
    );
    assert.equal(pageOf('InternalError'), 'at/troubleshooting#a-bug');
    assert.match(pageOf('CertificateNotTrusted') ?? '', /^at\/tls#/);
  });

  it('is on the page of stalled verifications otherwise: what is right for a sync may be wrong here', () => {
    for (const reason of ['OplogRolledOver', 'ClusterUnreachable', 'PodPending', 'NoVerdict', null])
      assert.equal(pageOf(reason), 'at/runbooks/verification-stalled', String(reason));
    assert.equal(pageOf('toString'), 'at/runbooks/verification-stalled');
  });

  it('is on the page of differences, where it has found some', () => {
    assert.equal(differencesHelp('at/{page}'), 'at/runbooks/verification-different');
  });

  it('is nowhere without the address of the documentation', () => {
    assert.equal(verificationHelp('CheckFailed', null), undefined);
    assert.equal(differencesHelp(null), undefined);
    assert.equal(docsAddress(undefined, 'at/{page}'), undefined);
  });
});
