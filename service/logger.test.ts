import assert from 'node:assert/strict';
import { createLogger } from './logger.ts';

describe('createLogger', () => {
  it('writes one redacted JSON object per line, also for errors with a cause', () => {
    const lines: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => lines.push(line));
    const cause = new Error('at mongodb://user:secret@host/');
    logger.error(
      { err: new Error('cannot connect', { cause }), uri: 'mongodb://user:secret@host/' },
      'failed',
    );
    logger.debug('not written');
    assert.equal(lines.length, 1);
    const line = lines.join('');
    assert.ok(!line.includes('secret'), line);
    const parsed = JSON.parse(line) as Record<string, unknown>;
    assert.equal(parsed['program'], 'syncer');
    assert.equal(parsed['level'], 'error');
    assert.equal(parsed['uri'], 'mongodb://<credentials>@host/');
  });

  it('writes lines of a bounded length, whatever they quote, and never half of a password', () => {
    const lines: string[] = [];
    const logger = createLogger('syncer', 'info', (line) => lines.push(line));
    const text = `mongodb://user:secret@host/ ${'x'.repeat(100)} `.repeat(20_000);
    logger.error({ err: new Error(text), reason: text, list: [text], attempt: 3 }, 'failed');
    const [line = ''] = lines;
    assert.ok(line.length < 40_000, `${line.length}`);
    assert.ok(!line.includes('secret'));
    const { attempt, msg, level, err, ...others } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual([attempt, msg, level], [3, 'failed', 'error']);
    assert.match(String(err), /^\{"type":"Error","message":"mongodb:.*cut\)$/);
    assert.match(String(others['reason']), /cut\)$/);
  });
});
