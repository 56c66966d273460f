import assert from 'node:assert/strict';
import fc from 'fast-check';
import { operandName, operandLabels, selectorLabels } from './names.ts';

describe('operandName', () => {
  it('is the name and the kind, where that is possible', () => {
    assert.equal(operandName('orders', 'syncer'), 'orders-syncer');
    assert.equal(operandName('a'.repeat(45), 'syncer'), `${'a'.repeat(45)}-syncer`);
  });

  it('has a hash where the name is too long, begins with a digit or has dots', () => {
    assert.match(operandName('a'.repeat(46), 'syncer'), /^a{34}-[0-9a-f]{10}-syncer$/);
    assert.match(operandName('7up', 'verifier'), /^x7up-[0-9a-f]{10}-verifier$/);
    assert.match(operandName('a.b', 'syncer'), /^a-b-[0-9a-f]{10}-syncer$/);
    assert.notEqual(operandName('a.b', 'syncer'), operandName('a-b', 'syncer'));
  });

  it('is a short DNS label for every name, and different for different ones', () => {
    const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/);
    fc.assert(
      fc.property(name, name, (one, other) => {
        const made = operandName(one, 'verifier');
        assert.match(made, /^[a-z]([-a-z0-9]*[a-z0-9])?$/);
        assert.ok(made.length <= 52);
        assert.equal(made === operandName(other, 'verifier'), one === other);
      }),
    );
  });
});

describe('operandLabels', () => {
  it('has the labels that select', () => {
    const labels = operandLabels('orders-syncer', 'syncer');
    for (const [key, value] of Object.entries(selectorLabels('orders-syncer', 'syncer'))) {
      assert.equal(labels[key], value);
    }
  });
});
