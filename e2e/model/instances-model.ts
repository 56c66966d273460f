import { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { changeWaitsFor, commitTimeIn, isSettled, stateOf } from '../../syncer/store/instances.ts';
import { commitSteps } from './instances-commit.ts';
import { assemblyOf, nameOf, recordOf, streamPlaceOf, timestampOf } from './instances-records.ts';
import {
  changed,
  isCatalogChange,
  notBeforeCommit,
  restoration,
  timeOf,
  type Bounds,
  type CatalogWrite,
  type Instance,
  type Model,
  type Place,
  type Process,
  type Rules,
  type Running,
  type Step,
  type StoredSync,
} from './instances-state.ts';
import type { Happening } from './search.ts';

/** Everything that may happen in a state of several instances that apply changes and commit, each thing once. */
export function happeningsOf(
  rules: Rules,
  bounds: Bounds,
): (model: Model) => readonly Happening<Model>[] {
  return (model) => {
    if (model.sync.phase === 'done') return [];
    const steps = [...sourceSteps(model, bounds), ...leaseSteps(model, rules)];
    for (const [index, instance] of model.instances.entries()) {
      const { process } = instance;
      if (!process) {
        steps.push(...startSteps(model, index, instance, rules));
        continue;
      }
      const running: Running = { ...instance, process, index };
      steps.push(
        ...followSteps(model, running, rules),
        ...changeSteps(model, running, rules),
        ...(bounds.isCommitted ? commitSteps(model, running, rules) : []),
        ...killSteps(model, running),
      );
    }
    steps.push(...networkSteps(model));
    return steps;
  };
}

function sourceSteps(model: Model, { changes }: Bounds): Step[] {
  const { written } = model;
  return written < changes
    ? [{ what: 'the source is written to', next: { ...model, written: written + 1 } }]
    : [];
}

/** Applying changes, up to the commit. */
function followSteps(model: Model, { index, process }: Running, rules: Rules): Step[] {
  const { sync, written } = model;
  const { place, stage, command } = process;
  const next = place + 1;
  const steps: Step[] = [];
  const add = (what: string, step: Model): void => {
    steps.push({ what, next: step });
  };
  const { commitTime } = sync;
  const end = (time: number): Model =>
    changed(model, index, { stage: 'ended' }, { token: place, appliedTime: time });
  switch (stage) {
    case 'idle':
      if (command !== 'none' && commitTime !== null && timeOf(next) > commitTime)
        add('an instance sees the end', end(commitTime));
      else if (next <= written) add('a change is read', changed(model, index, { stage: 'read' }));
      break;
    case 'read': {
      const known = command === 'none' ? null : commitTimeIn(recordOf(sync));
      if (known === 'awaited' && rules['the time is looked up after reading']) break;
      const isEnd = known instanceof Timestamp && isAtMost(known, timestampOf(timeOf(next)));
      if (isEnd && commitTime !== null) add('an instance sees the end', end(commitTime));
      else
        add('a change is before the commit', changed(model, index, { stage: 'before the commit' }));
      break;
    }
    case 'before the commit':
      if (isCatalogChange(next)) {
        const stored = rules['an arrival stores what was applied'] ? { token: place } : {};
        add(
          'a change of the catalog is reached',
          changed(model, index, { stage: 'arrived' }, { ...stored, arrivedAt: next }),
        );
      } else {
        const done = changed(model, index, { stage: 'idle', place: next });
        add('a change is applied', applied(done, index, next));
      }
      break;
    case 'arrived':
      if (isSettled(recordOf(sync), streamPlaceOf(next)))
        add(
          'a change of the catalog is passed',
          changed(model, index, { stage: 'idle', place: next }),
        );
      break;
    case 'ended':
      break;
  }
  return steps;
}

/** A change takes effect on the destination. */
function applied(model: Model, index: number, place: Place): Model {
  const { catalog, sync, instances } = model;
  const before = place > 2 ? 2 : 0;
  const isAfterCommit = sync.commitTime !== null && timeOf(place) > sync.commitTime;
  const wrong = isAfterCommit
    ? notBeforeCommit
    : catalog < before
      ? 'a change was applied before the change of the catalog that precedes it'
      : catalog > before
        ? 'a change was applied after a later change of the catalog'
        : model.wrong;
  const known = instances[index]?.applied ?? 0;
  return { ...changed(model, index, {}, { applied: Math.max(known, place) }), wrong };
}

/** The lease of the coordinator. */
function leaseSteps(model: Model, rules: Rules): Step[] {
  const { lease, instances, lapses } = model;
  const steps: Step[] = [];
  const isHolder = (index: number, { life }: Process): boolean =>
    lease.holder === index && lease.life === life;
  const isReliedOn = instances.some(
    ({ process }, index) => process?.lease === 'relied on' && isHolder(index, process),
  );
  const mayEnd = !isReliedOn || !rules['a lease outlasts the trust in it'];
  if (lease.holder !== null && !lease.isOver && mayEnd && lapses > 0)
    steps.push({
      what: 'the lease ends',
      next: { ...model, lapses: lapses - 1, lease: { ...lease, isOver: true } },
    });
  for (const [index, { process }] of instances.entries()) {
    if (!process) continue;
    const { life } = process;
    if (process.lease === 'relied on' && lapses > 0)
      steps.push({
        what: 'an instance has not renewed its lease',
        next: { ...changed(model, index, { lease: 'doubted' }), lapses: lapses - 1 },
      });
    if (process.lease === 'doubted')
      steps.push({
        what: 'an instance asks whether it still has the lease',
        next: isHolder(index, process)
          ? {
              ...changed(model, index, { lease: 'relied on' }),
              lease: { ...lease, isOver: false },
            }
          : changed(model, index, { lease: 'none' }),
      });
    const isFree = lease.holder === null || lease.isOver || lease.holder === index;
    if (process.lease === 'none' && isFree) {
      const again = rules['another lease is taken over again'] ? { hasTakenOver: false } : {};
      steps.push({
        what: 'an instance takes the lease',
        next: {
          ...changed(model, index, { lease: 'relied on', ...again }),
          lease: { holder: index, life, number: lease.number + 1, isOver: false },
        },
      });
    }
  }
  return steps;
}

/** What the coordinator does to the catalog, at a change of the stream and at the end. */
function changeSteps(model: Model, { index, process }: Running, rules: Rules): Step[] {
  const { sync, onTheirWay, lease } = model;
  const { change, hasTakenOver } = process;
  const steps: Step[] = [];
  const add = (what: string, next: Model): void => {
    steps.push({ what, next });
  };
  const isOwn = ({ by }: CatalogWrite): boolean => by === index;
  if (change === 'sent' && !onTheirWay.some(isOwn))
    add('the answer was lost', changed(model, index, { change: 'none' }));
  if (change === 'sent' && onTheirWay.some(isOwn) && model.cuts > 0)
    add('a connection is cut', {
      ...changed(model, index, { change: 'none' }),
      cuts: model.cuts - 1,
    });
  const place = placeOfChange(model, process);
  if (change === 'answered') {
    if (process.lease !== 'relied on')
      add('the coordinator is none any more', changed(model, index, { change: 'none' }));
    else if (place !== undefined)
      add('the coordinator stores what it has changed', {
        ...changed(model, index, { change: 'none' }),
        sync:
          place === restoration
            ? { ...sync, phase: 'done', state: 'COMMITTED' }
            : stored(sync, place),
      });
  }
  if (change !== 'none' || place === undefined) return steps;
  const isReliable =
    process.lease === 'relied on' ||
    (process.lease === 'doubted' && !rules['the lease is checked when a change is sent']);
  if (!isReliable) return steps;
  const waits =
    place !== restoration && rules['a change of the catalog waits for all']
      ? changeWaitsFor(assemblyOf(model), streamPlaceOf(place))
      : undefined;
  if (waits !== undefined) return steps;
  if (!hasTakenOver) {
    const isWaitedFor = ({ at, by }: CatalogWrite): boolean =>
      by === index ||
      (at === 'server' && rules['a coordinator waits for what the server runs']) ||
      (at === 'network' && rules['a coordinator waits for what the network holds']);
    if (!onTheirWay.some(isWaitedFor))
      add('the coordinator takes over', {
        ...changed(model, index, { hasTakenOver: true }),
        takenOver: lease.number,
      });
    return steps;
  }
  if (onTheirWay.some(isOwn)) return steps;
  const sent = changed(model, index, { change: 'sent' });
  const write = {
    by: index,
    life: process.life,
    lease: lease.number,
    place,
    at: 'network',
  } as const;
  const early = rules['the place of a change is stored once it is done']
    ? sync
    : stored(sync, place);
  add('a change of the catalog is sent', {
    ...sent,
    sync: place === restoration ? sync : early,
    onTheirWay: [...onTheirWay, write],
  });
  return steps;
}

/** What the coordinator has to change next; undefined for nothing. */
function placeOfChange({ sync }: Model, { stage, place }: Process): Place | undefined {
  if (sync.phase === 'restoring' && stage === 'ended') return restoration;
  if (stage !== 'arrived' || isSettled(recordOf(sync), streamPlaceOf(place + 1))) return undefined;
  return place + 1;
}

/** The place of the last change of the catalog is stored, if the record is as it was. */
function stored(sync: StoredSync, place: Place): StoredSync {
  return sync.catalogEvent === null ? { ...sync, catalogEvent: place } : sync;
}

/** What becomes of commands that are on their way. */
function networkSteps(model: Model): Step[] {
  const { onTheirWay, instances } = model;
  const steps: Step[] = [];
  for (const [number, write] of onTheirWay.entries()) {
    const others = onTheirWay.filter((_, at) => at !== number);
    if (write.at === 'network') {
      const running = { ...write, at: 'server' as const };
      steps.push(
        { what: 'a server begins a change', next: { ...model, onTheirWay: [...others, running] } },
        { what: 'the network loses a change', next: { ...model, onTheirWay: others } },
      );
      continue;
    }
    const { by, life } = write;
    const process = instances[by]?.process;
    const done = { ...model, onTheirWay: others, ...inEffect(model, write) };
    const isAwaited = process?.life === life && process.change === 'sent';
    steps.push({ what: 'a change takes effect', next: done });
    if (isAwaited)
      steps.push({
        what: 'a change takes effect, and the answer comes',
        next: changed(done, by, { change: 'answered' }),
      });
  }
  for (const [index, { late }] of instances.entries()) {
    if (late === null) continue;
    const gone = changed(model, index, {}, { late: null });
    steps.push(
      { what: 'a late change is applied', next: applied(gone, index, late) },
      { what: 'a late change is lost', next: gone },
    );
  }
  return steps;
}

/** A change of the catalog takes effect. */
function inEffect(
  { takenOver, instances, catalog, sync }: Model,
  { lease, place }: CatalogWrite,
): Pick<Model, 'catalog' | 'wrong'> {
  const isEarly = place !== restoration && instances.some(({ token }) => token < place - 1);
  const { commitTime } = sync;
  const isAfterCommit = commitTime !== null && place !== restoration && timeOf(place) > commitTime;
  const isStored = sync.catalogEvent !== null && sync.catalogEvent >= place;
  const wrong =
    lease < takenOver
      ? 'a change of the catalog took effect after another coordinator had taken over'
      : isAfterCommit
        ? notBeforeCommit
        : isEarly
          ? 'a change of the catalog took effect before everything that precedes it'
          : isStored || place < catalog
            ? 'a change of the catalog took effect late'
            : null;
  return { catalog: place, wrong };
}

function killSteps(model: Model, { index, process }: Running): Step[] {
  const { kills } = model;
  if (kills === 0) return [];
  const what = 'an instance is killed';
  const instances = (late: Place | null): Instance[] =>
    model.instances.map((one, at) => (at === index ? { ...one, process: null, late } : one));
  const next = process.place + 1;
  const isApplying = process.stage === 'before the commit' && !isCatalogChange(next);
  const killed = (late: Place | null): Model => ({
    ...model,
    kills: kills - 1,
    instances: instances(late),
  });
  const steps = [{ what, next: killed(null) }];
  if (isApplying) steps.push({ what: `${what} while a change is on its way`, next: killed(next) });
  return steps;
}

function startSteps(model: Model, index: number, instance: Instance, rules: Rules): Step[] {
  const { sync, onTheirWay } = model;
  const { token, late, lives } = instance;
  const isHeld = late !== null || onTheirWay.some(({ by }) => by === index);
  if (isHeld && rules['a process waits for what the one before it has sent']) return [];
  const isGiven = stateOf(recordOf(sync), nameOf(index)) === 'COMMITTING';
  const process: Process = {
    life: lives,
    place: token,
    stage: sync.phase === 'changes' ? 'idle' : 'ended',
    command: isGiven ? 'given' : 'none',
    lease: 'none',
    hasTakenOver: false,
    change: 'none',
    fixing: 'none',
  };
  const started: Instance = { ...instance, lives: lives + 1, process };
  return [
    {
      what: 'an instance is started',
      next: {
        ...model,
        instances: model.instances.map((one, at) => (at === index ? started : one)),
      },
    },
  ];
}
