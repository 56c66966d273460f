// Pods that misbehave, each kind at its own address in the loopback network. Ends with its parent.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { applying, copying, idle } from '../../e2e/integration/operator/stand-in.ts';
import type { HostileKind, HostileSetup } from './hostile-pods.ts';

const { addresses, port } = JSON.parse(process.argv[2] ?? '') as HostileSetup;

let answers = 0;
const states = [applying, { ...applying, canCommit: false }, copying, idle];

const levels = `{"progress": {"state": "IDLE", "info": ${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
const filler = 'x'.repeat(200_000);

const behaviours: Readonly<Record<HostileKind, (response: ServerResponse) => void>> = {
  flapping: (response) => {
    const state = states[answers % states.length];
    response.end(JSON.stringify({ progress: { ...state, lagTimeSeconds: answers } }));
  },
  stalling: () => undefined,
  dripping: (response) => {
    const timer = setInterval(() => response.write(' '), 1_000);
    response.on('close', () => {
      clearInterval(timer);
    });
  },
  endless: (response) => {
    const write = (): void => {
      while (!response.destroyed && response.write(filler));
    };
    response.on('drain', write);
    write();
  },
  levels: (response) => response.end(levels),
  large: (response) => {
    const parts: Record<string, number> = {};
    for (let index = 0; index < 2_000; index++) parts[`part-${index}`] = answers * index;
    const progress = { ...applying, ...parts, filler: filler.slice(0, 150_000) };
    response.end(JSON.stringify({ progress }));
  },
  errors: (response) => {
    response.end(JSON.stringify({ success: false, error: `Failed: ${answers} ${filler}` }));
  },
};

for (const [kind, address] of Object.entries(addresses)) {
  const server = createServer((request, response) => {
    answers += 1;
    request.resume();
    response.on('error', () => undefined);
    response.setHeader('Content-Type', 'application/json');
    behaviours[kind as HostileKind](response);
  });
  server.listen(port, address);
  await once(server, 'listening');
}
process.on('disconnect', () => {
  process.exit();
});
process.send?.('ready');
