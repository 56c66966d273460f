import type {
  ApiEncounter,
  ApiProxy,
  ApiRequest,
  ForgedAnswer,
} from '../../ground/kubernetes/api-proxy.ts';
import type { PlannedFault } from '../syncer/write-faults.ts';

/** A planned fault. */
interface Plan extends PlannedFault {
  /** Ends the process that sends the write. */
  readonly kill: () => void;
}

/**
 * How many writes of a kind are counted: what follows comes at intervals, so that there are as many as the work takes long. A
 * status is written for each step.
 */
const maxOfKind = { events: 4, leases: 4, status: 16 } as const;

/** Refusals after which a client may not take the write for done, and none of which says that it never will be. */
const refusals: readonly ForgedAnswer[] = [
  { code: 500, reason: 'InternalError', message: 'refused by the test' },
  { code: 429, reason: 'TooManyRequests', message: 'refused by the test', retryAfterSeconds: 1 },
  { code: 503, reason: 'ServiceUnavailable', message: 'refused by the test' },
];

/** As if somebody had changed the object since it was read. */
const conflict: ForgedAnswer = { code: 409, reason: 'Conflict', message: 'refused by the test' };

/** As the API server says it when it does not know what has become of a request. */
const timeout: ForgedAnswer = {
  ...{ code: 504, reason: 'Timeout' },
  message: 'Timeout: request did not complete within requested timeout',
};

/** The writes that come to an API server through a proxy, and the fault that one of them meets. */
export class ApiWriteWatch {
  readonly #counts = new Map<string, number>();
  #order: string[] = [];
  #plan: Plan | undefined;
  #met: string | undefined;

  constructor(proxy: ApiProxy) {
    proxy.judge = (request) => this.#judge(request);
  }

  /** Forgets what was sent, and lets one of the writes from now on meet a fault, or none. */
  begin(plan?: Plan): void {
    this.#counts.clear();
    this.#order = [];
    this.#plan = plan;
    this.#met = undefined;
  }

  /** What was written since then, in the order of sending. */
  get order(): readonly string[] {
    return this.#order;
  }

  /** The write that has met the planned fault; undefined while there is none. */
  get met(): string | undefined {
    return this.#met;
  }

  #judge({ method, path }: ApiRequest): ApiEncounter | undefined {
    if (method === 'GET') return undefined;
    const target = targetOf(path);
    const write = `${method} ${target}`;
    const nth = (this.#counts.get(write) ?? 0) + 1;
    this.#counts.set(write, nth);
    if (nth > mostOf(target)) return undefined;
    this.#order.push(write);
    const plan = this.#plan;
    if (this.#met !== undefined || plan?.n !== this.#order.length) return undefined;
    this.#met = write;
    return encounterOf(plan, method);
  }
}

/** The resource, and its name where that is the same each time. */
function targetOf(path: string): string {
  const [location = ''] = path.split('?');
  const parts = location.split('/').slice(location.startsWith('/api/') ? 3 : 4);
  const [resource = '', name, subresource] = parts[0] === 'namespaces' ? parts.slice(2) : parts;
  if (resource === 'events' || resource === 'leases') return resource;
  return [resource, name, subresource].filter((part) => part !== undefined).join('/');
}

function mostOf(target: string): number {
  if (target === 'events' || target === 'leases') return maxOfKind[target];
  return target.endsWith('/status') ? maxOfKind.status : Infinity;
}

function encounterOf({ fault, n, kill }: Plan, method: string): ApiEncounter {
  switch (fault) {
    case 'is refused': {
      const possible = method === 'PUT' || method === 'PATCH' ? [...refusals, conflict] : refusals;
      return { kind: 'kept', ...answered(possible[n % possible.length]) };
    }
    case 'is carried out, but not acknowledged':
      return { kind: 'delivered', onAnswer: () => timeout };
    case 'is lost with its connection':
      return { kind: 'kept' };
    case 'is carried out, and its answer lost':
      return { kind: 'delivered', onAnswer: () => undefined };
    case 'is lost with its process':
      kill();
      return { kind: 'kept' };
    case 'is carried out, and its process killed before the answer':
      return {
        kind: 'delivered',
        onAnswer: () => {
          kill();
          return undefined;
        },
      };
  }
}

function answered(answer: ForgedAnswer | undefined): { readonly answer?: ForgedAnswer } {
  return answer === undefined ? {} : { answer };
}
