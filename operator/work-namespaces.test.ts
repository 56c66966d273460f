import assert from 'node:assert/strict';
import { commandRule, workNamespaces } from './work-namespaces.ts';

/** Namespaces of which some are known, some have not been seen yet, and some are owned. */
function scene({ known = '', unseen = '', owned = '' } = {}) {
  const listeners: { watched?: () => void; owned?: (namespace?: string) => void } = {};
  const namespaces = workNamespaces(
    {
      isKnown: (namespace) => namespace === known,
      isUnseen: (namespace) => namespace === unseen,
      onChange: (listener) => (listeners.watched = listener),
    },
    {
      isOwned: (namespace) => namespace === owned,
      onChange: (listener) => (listeners.owned = listener as (namespace?: string) => void),
    },
  );
  return { namespaces, listeners };
}

describe('workNamespaces', () => {
  it('are those that can be read and are owned', () => {
    for (const [known, owned, may] of [
      ['shop', 'shop', true],
      ['shop', 'depot', false],
      ['depot', 'shop', false],
      ['depot', 'depot', false],
    ] as const)
      assert.equal(scene({ known, owned }).namespaces.mayWork('shop'), may, `${known} ${owned}`);
  });

  it('may become those that can be read, or have not been seen yet', () => {
    assert.equal(scene({ known: 'shop' }).namespaces.mayLater('shop'), true);
    assert.equal(scene({ unseen: 'shop' }).namespaces.mayLater('shop'), true);
    assert.equal(scene({ known: 'depot', owned: 'shop' }).namespaces.mayLater('shop'), false);
  });

  it('say when either changes: any of them may be readable again, or one has another owner', () => {
    const { namespaces, listeners } = scene();
    const told: (string | undefined)[] = [];
    namespaces.onChange((namespace) => told.push(namespace));
    listeners.watched?.();
    listeners.owned?.('shop');
    assert.deepEqual(told, [undefined, 'shop']);
  });
});

describe('commandRule', () => {
  it('lets a leader command in its own namespaces, as both are at that time', () => {
    let leads = true;
    let own = 'shop';
    const mayCommand = commandRule(() => leads, { mayWork: (namespace) => namespace === own });
    assert.deepEqual([mayCommand('shop/orders'), mayCommand('depot/orders')], [true, false]);
    own = 'depot';
    assert.deepEqual([mayCommand('shop/orders'), mayCommand('depot/orders')], [false, true]);
    leads = false;
    assert.deepEqual([mayCommand('shop/orders'), mayCommand('depot/orders')], [false, false]);
  });
});
