import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TcpProxy } from './tcp-proxy.ts';
import { until } from './until.ts';

describe('TcpProxy', () => {
  let echo: Server;
  let proxy: TcpProxy;
  const sockets: Socket[] = [];
  before(async () => {
    echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket));
    await once(echo.listen(0, '127.0.0.1'), 'listening');
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start((echo.address() as AddressInfo).port, (bytes) =>
      bytes.includes('affected'),
    );
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await proxy[Symbol.asyncDispose]();
  });
  after(async () => {
    echo.close();
    await once(echo, 'close');
  });

  /** A connection that has not sent anything yet. */
  async function open(): Promise<Socket> {
    const before = proxy.accepted;
    const socket = connect(proxy.port, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    await until('the proxy has it', () => proxy.accepted > before);
    return socket;
  }

  async function answer(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString();
  }

  it('strands connections that are for it and have not said so yet, and no others', async () => {
    const [affected, other] = [await open(), await open()];
    proxy.strand();
    assert.equal(await answer(other, 'other'), 'other');
    affected.write('affected');
    await until('it is stranded', () => proxy.stranded === 1);
    assert.equal(await answer(await open(), 'affected too'), 'affected too');
    assert.equal(affected.bytesRead, 0);
    proxy.release();
    await once(affected, 'data');
  });

  it('strands nothing that was released before it has sent anything', async () => {
    const affected = await open();
    proxy.strand();
    proxy.release();
    assert.equal(await answer(affected, 'affected'), 'affected');
  });

  for (const way of ['cut', 'refuse'] as const)
    it(`breaks connections that are for it and have not said so yet, and no others: ${way}`, async () => {
      const [affected, other] = [await open(), await open()];
      proxy[way]();
      assert.equal(await answer(other, 'other'), 'other');
      const closed = new Promise((resolve) => affected.once('close', resolve));
      affected.write('affected');
      await closed;
      proxy.heal();
      assert.equal(await answer(await open(), 'affected'), 'affected');
    });

  it('freezes connections that are for it, and lets through when healed what was sent', async () => {
    const [known, unknown, other] = [await open(), await open(), await open()];
    assert.equal(await answer(known, 'affected'), 'affected');
    proxy.freeze();
    assert.equal(await answer(other, 'other'), 'other');
    known.write('affected more');
    unknown.write('affected');
    assert.equal(await answer(other, 'other again'), 'other again');
    assert.deepEqual([known.bytesRead, unknown.bytesRead], ['affected'.length, 0]);
    const thawed = [known, unknown].map(async (socket) => String(await once(socket, 'data')));
    proxy.heal();
    assert.deepEqual(await Promise.all(thawed), ['affected more', 'affected']);
  });

  it('keeps the order of what arrives late and what does not any more', async () => {
    const [socket, other] = [await open(), await open()];
    assert.equal(await answer(socket, 'affected,'), 'affected,');
    assert.equal(await answer(other, 'other'), 'other');
    const heard: string[] = [];
    socket.on('data', (bytes) => heard.push(String(bytes)));
    proxy.slow(500);
    socket.write('late,');
    await until('it is held back', () => proxy.late === 1);
    assert.equal(await answer(other, 'not late'), 'not late');
    assert.equal(proxy.late, 1);
    proxy.slow(0);
    socket.write('soon');
    await until('all of it is there', () => heard.join('').length === 'late,soon'.length);
    assert.equal(heard.join(''), 'late,soon');
  });

  it('keeps what a client sends from the target, and answers it, or the connection breaks', async () => {
    const [affected, other] = [await open(), await open()];
    assert.equal(await answer(affected, 'affected'), 'affected');
    proxy.judge((bytes) => {
      if (bytes.includes('answered')) return { kind: 'kept', answer: Buffer.from('an answer') };
      return bytes.includes('broken') ? { kind: 'kept' } : undefined;
    });
    assert.equal(await answer(affected, 'answered'), 'an answer');
    assert.equal(await answer(other, 'broken'), 'broken');
    assert.equal(await answer(affected, 'let through'), 'let through');
    const heard = affected.bytesRead;
    const closed = new Promise((resolve) => affected.once('close', resolve));
    affected.write('broken');
    await closed;
    assert.equal(affected.bytesRead, heard);
  });

  it('replaces or keeps back what the target says to something, once it has that', async () => {
    const affected = await open();
    assert.equal(await answer(affected, 'affected'), 'affected');
    const said: string[] = [];
    proxy.judge((bytes) => ({
      kind: 'delivered',
      onAnswer: (echoed) => {
        said.push(echoed.toString());
        return bytes.includes('lost') ? undefined : Buffer.from('replaced');
      },
    }));
    assert.equal(await answer(affected, 'first'), 'replaced');
    const heard = affected.bytesRead;
    const closed = new Promise((resolve) => affected.once('close', resolve));
    affected.write('lost');
    await closed;
    assert.equal(affected.bytesRead, heard);
    assert.deepEqual(said, ['first', 'lost']);
  });
});
