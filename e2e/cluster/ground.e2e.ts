import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { useCluster, type Cluster } from '../ground/kubernetes/cluster.ts';

const namespace = 'ground';

describe('the cluster of the tests', () => {
  let cluster: Cluster;
  let image: string;

  before(async () => {
    cluster = await useCluster();
    image = await cluster.loadImage();
    await cluster.kubectl(['create', 'namespace', namespace]);
    await cluster.waitFor('serviceaccount/default', 'create', { namespace });
  });

  afterEach(async function () {
    if (this.currentTest?.isFailed() === true) console.error(await cluster.dump(namespace));
  });

  after(async () => {
    await cluster.kubectl(['delete', 'namespace', namespace, '--ignore-not-found']);
  });

  /** Runs a program in a pod as the chart does, not root and read-only, and returns what it printed. */
  async function runInPod(name: string, program: string): Promise<string> {
    await apply(podOf(name, program, {}));
    const condition = 'jsonpath={.status.phase}=Succeeded';
    await cluster.waitFor(`pod/${name}`, condition, { namespace });
    return (await cluster.kubectl(['logs', name, `--namespace=${namespace}`])).trim();
  }

  async function apply(object: object): Promise<void> {
    const args = ['apply', `--namespace=${namespace}`, '--filename=-'];
    await cluster.kubectl(args, { input: JSON.stringify(object) });
  }

  function podOf(name: string, program: string, labels: Record<string, string>): object {
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels },
      spec: {
        restartPolicy: 'Never',
        terminationGracePeriodSeconds: 0,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: 'main',
            image,
            command: ['node', '--eval', program],
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      },
    };
  }

  it('has a node that is ready', async () => {
    const nodes = await cluster.kubectl(['get', 'nodes', '--output=name']);
    await cluster.waitFor(nodes.trim(), 'condition=Ready');
  });

  it('runs the image of this checkout without root and without a writable disk', async () => {
    const output = await runInPod(
      'user',
      `const fs = require('node:fs');
       let written = 'written';
       try { fs.writeFileSync('/app/file', ''); } catch (error) { written = error.code; }
       const { type } = JSON.parse(fs.readFileSync('/app/package.json', 'utf8'));
       console.log(process.getuid(), written, process.versions.node.split('.')[0], type);`,
    );
    assert.equal(output, '1000 EROFS 24 module');
  });

  it('has the program and its dependencies in the image', async () => {
    const output = await runInPod(
      'program',
      `const { readFileSync } = require('node:fs');
       const { dependencies } = JSON.parse(readFileSync('/app/package.json', 'utf8'));
       (async () => {
         for (const name of Object.keys(dependencies)) await import('/app/node_modules/' + name + '/package.json', { with: { type: 'json' } });
         const { execFileSync } = require('node:child_process');
         const help = execFileSync('node', ['/app/dist/bin/clustersync.js', '--help']).toString();
         console.log(help.includes('syncer'));
       })();`,
    );
    assert.equal(output, 'true');
  });

  it('lets pods reach servers of this machine', async () => {
    const server = createServer((socket) => {
      socket.end('hello from this machine');
    });
    server.listen(0, cluster.hostAddress);
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const output = await runInPod(
        'caller',
        `require('node:net').connect(${port}, '${cluster.hostAddress}').pipe(process.stdout);`,
      );
      assert.equal(output, 'hello from this machine');
    } finally {
      server.close();
    }
  });

  it('resolves the names of services and leads to their pods', async () => {
    const web = `require('node:http').createServer((_, answer) => answer.end('hello')).listen(8080)`;
    await apply(podOf('web', web, { app: 'web' }));
    await apply({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    });
    await cluster.waitFor('pod/web', 'condition=Ready', { namespace });
    const output = await runInPod(
      'client',
      `(async () => {
         for (let attempt = 0; ; attempt++) {
           try {
             const answer = await fetch('http://web.${namespace}.svc.cluster.local');
             return console.log(await answer.text());
           } catch (error) {
             if (attempt === 50) throw error;
             await new Promise((resolve) => setTimeout(resolve, 200));
           }
         }
       })();`,
    );
    assert.equal(output, 'hello');
  });

  it('recovers when the API server is killed', async () => {
    await cluster.kill('kube-apiserver');
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after' } }).catch(
      () => undefined,
    );
    await cluster.waitFor('pod/web', 'condition=Ready', { namespace });
    // After several such deaths a kubelet looks for pods only twice a minute.
    assert.equal(await runInPod('afterwards', `console.log('ran')`), 'ran');
  });
});
