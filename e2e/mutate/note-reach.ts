// Loaded by NODE_OPTIONS before each program of a spec: notes of which modules functions are called, in a file of REACH_FOLDER.
// NODE_V8_COVERAGE writes at the end of a process alone, and tests kill many.
import { appendFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

const root = new URL('../../', import.meta.url).href;
const folder = process.env['REACH_FOLDER'];
const everyMs = 500;

if (folder !== undefined) {
  const noted = new Set<string>();
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const note = (): void => {
    session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      if (error) return;
      const called = coverage.result
        .filter(({ url }) => url.startsWith(root) && !url.includes('/node_modules/'))
        // The first is the module itself, which runs when it is imported.
        .filter(({ functions }) => functions.slice(1).some(({ ranges }) => ranges[0]?.count))
        .map(({ url }) => url.slice(root.length))
        .filter((path) => !noted.has(path));
      for (const path of called) noted.add(path);
      if (called.length > 0)
        appendFileSync(
          join(folder, String(process.pid)),
          called.map((path) => `${path}\n`).join(''),
        );
    });
  };
  setInterval(note, everyMs).unref();
  process.on('exit', note);
}
