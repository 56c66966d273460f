import type { IncomingMessage } from 'node:http';
import { Agent, request, type RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { messageOf } from '../../service/errors.ts';
import { orAborted } from '../../service/or-aborted.ts';
import { sendWhenConnected } from '../../service/send-when-connected.ts';
import { Deadline } from './deadline.ts';
import { errorOfStatus, KubeError } from './kube-error.ts';
import type { KubeMetrics } from './metrics.ts';

/** Deadline of a request to the API server unless it sets another one. */
export const defaultDeadlineMs = 10_000;

/** Largest answer that is read: a page of 500 objects is well below it. */
const maxAnswerBytes = 128 * 1024 * 1024;

/** Idle connections are probed after this time, to detect a dead peer. */
const keepAliveProbeMs = 15_000;

/** One request to the API server. */
export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `application/json` by default. */
  readonly contentType?: string;
  readonly signal: AbortSignal;
  /** 10 s by default. */
  readonly deadlineMs?: number;
}

/** An answer whose body is still arriving. The deadline keeps running; `deadline.rearm` gives more time. */
export interface OpenAnswer extends Disposable {
  readonly body: IncomingMessage;
  readonly deadline: Deadline;
  /** What to throw if reading the body has failed with this error. */
  readonly failure: (error: unknown) => unknown;
}

/**
 * HTTPS to the API server of a KubeConfig: credentials, certificates and proxy come from the configuration, and are read
 * again for each request (tokens are rotated). Every request has a deadline.
 */
export class KubeTransport implements Disposable {
  readonly #config: KubeConfig;
  readonly #metrics: KubeMetrics;
  readonly #server: URL;
  readonly #mayWrite: (namespace: string | undefined) => boolean;
  readonly #agent = new Agent({
    keepAlive: true,
    keepAliveMsecs: keepAliveProbeMs,
    maxFreeSockets: 8,
    scheduling: 'lifo',
  });

  /**
   * @param mayWrite - called with the namespace before a request other than GET is sent, once connected.
   * @throws TypeError if the configuration names no cluster, or one that is not reached by HTTPS.
   */
  constructor(
    config: KubeConfig,
    metrics: KubeMetrics,
    mayWrite: (namespace: string | undefined) => boolean,
  ) {
    const server = URL.parse(config.getCurrentCluster()?.server ?? '');
    if (server?.protocol !== 'https:') {
      throw new TypeError('the kubeconfig names no current cluster with an https address');
    }
    this.#config = config;
    this.#metrics = metrics;
    this.#server = server;
    this.#mayWrite = mayWrite;
  }

  /**
   * The body of the answer: parsed if it is JSON, otherwise as text.
   * @throws KubeError for every answer but 2xx, for no answer in time, and if the connection fails; the signal's
   * reason if it is aborted.
   */
  async send(kubeRequest: KubeRequest): Promise<unknown> {
    using answer = await this.open(kubeRequest);
    const { body } = answer;
    const text = await readText(body, describe(kubeRequest)).catch((error: unknown) => {
      throw answer.failure(error);
    });
    return parseBody(body, text, describe(kubeRequest));
  }

  /** Like {@link send}, but resolves as soon as the answer's head has arrived and is 2xx. Dispose of the answer. */
  async open(kubeRequest: KubeRequest): Promise<OpenAnswer> {
    const { signal, deadlineMs = defaultDeadlineMs } = kubeRequest;
    signal.throwIfAborted();
    const deadline = new Deadline(signal, deadlineMs);
    const failure = (error: unknown): unknown => {
      if (error instanceof KubeError) return error;
      if (signal.aborted && !deadline.isExpired) return signal.reason;
      return new KubeError({
        request: describe(kubeRequest),
        reason: deadline.isExpired ? 'DeadlineExceeded' : 'ConnectionFailed',
        message: messageOf(deadline.isExpired ? deadline.signal.reason : error),
        cause: error,
      });
    };
    let body: IncomingMessage | undefined;
    try {
      body = await this.#exchange(kubeRequest, deadline.signal);
      const code = body.statusCode ?? 0;
      if (code < 200 || code > 299) {
        const text = await readText(body, describe(kubeRequest));
        const parsed = parseBody(body, text, describe(kubeRequest));
        throw errorOfStatus(describe(kubeRequest), code, parsed, body.headers['retry-after']);
      }
    } catch (error) {
      body?.destroy();
      deadline[Symbol.dispose]();
      throw failure(error);
    }
    const opened = body;
    return {
      body: opened,
      deadline,
      failure,
      [Symbol.dispose]: () => {
        // An answer that was read to its end has already returned its connection.
        if (!opened.readableEnded) opened.destroy();
        deadline[Symbol.dispose]();
      },
    };
  }

  /** Closes the idle connections. Requests under way fail. */
  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  async #exchange(kubeRequest: KubeRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { method, body } = kubeRequest;
    const count = (code: string): void => {
      this.#metrics.requests.inc({ code, method, host: this.#server.host });
    };
    try {
      const payload = body === undefined ? undefined : Buffer.from(yamlText(body));
      const options = await this.#options(kubeRequest, payload, signal);
      const answer = await exchange(options, payload, signal, () => {
        if (method === 'GET' || this.#mayWrite(namespaceOf(kubeRequest))) return;
        const message = 'another process may work in its place by now: no more writes';
        throw new KubeError({ request: describe(kubeRequest), reason: 'NotLeading', message });
      });
      count(String(answer.statusCode ?? 0));
      return answer;
    } catch (error) {
      count('<error>');
      throw error;
    }
  }

  async #options(
    kubeRequest: KubeRequest,
    payload: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<RequestOptions> {
    const { method, path, query = {}, contentType = 'application/json' } = kubeRequest;
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, value);
    }
    const options: RequestOptions = {
      method,
      protocol: 'https:',
      // In brackets, an IPv6 address would be looked up as a name.
      hostname: this.#server.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: this.#server.port === '' ? 443 : this.#server.port,
      path:
        this.#server.pathname.replace(/(?<!\/)\/+$/, '') +
        path +
        (search.size > 0 ? `?${search.toString()}` : ''),
      headers: {
        Accept: 'application/json',
        'User-Agent': 'clustersync',
        // Node omits the length of a DELETE's body: the server would take the body for the next request.
        ...(payload && { 'Content-Type': contentType, 'Content-Length': payload.length }),
      },
    };
    // Credential plugins are programs: they may hang.
    await orAborted(this.#config.applyToHTTPSOptions(options), signal);
    // The configuration's own agent keeps no connections, so it is used only with a proxy.
    if (this.#config.getCurrentCluster()?.proxyUrl === undefined) options.agent = this.#agent;
    return options;
  }
}

function namespaceOf({ path }: KubeRequest): string | undefined {
  return /\/namespaces\/([^/]+)/.exec(path)?.[1];
}

function describe({ method, path }: KubeRequest): string {
  return `${method} ${path}`;
}

async function exchange(
  options: RequestOptions,
  payload: Buffer | undefined,
  signal: AbortSignal,
  assertMaySend: () => void,
): Promise<IncomingMessage> {
  const attempt = async (): Promise<IncomingMessage> =>
    await new Promise((resolve, reject) => {
      const outgoing = request({ ...options, signal }, resolve);
      outgoing.on('error', (error) => {
        reject(new ExchangeError(outgoing.reusedSocket, error));
      });
      sendWhenConnected(outgoing, payload, assertMaySend);
    });
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    // The server may close an idle connection just when it is used again: that is not a failure of the server.
    const isRetryable = error.wasReused && options.method !== 'POST' && !signal.aborted;
    if (!isRetryable) throw error.cause;
    return await attempt();
  }
}

class ExchangeError extends Error {
  readonly wasReused: boolean;
  override readonly cause: Error;

  constructor(wasReused: boolean, cause: Error) {
    super(cause.message);
    this.wasReused = wasReused;
    this.cause = cause;
  }
}

async function readText(body: IncomingMessage, about: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxAnswerBytes) {
      throw new KubeError({
        request: about,
        reason: 'ResponseTooLarge',
        message: `the answer is larger than ${maxAnswerBytes} bytes`,
      });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseBody(body: IncomingMessage, text: string, about: string): unknown {
  if (!body.headers['content-type']?.startsWith('application/json')) return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new KubeError({
      request: about,
      statusCode: body.statusCode,
      reason: 'InvalidResponse',
      message: 'the answer is not valid JSON',
      cause: error,
    });
  }
}

/** Where the configuration of the API server may come from. */
export interface KubeConfigSources {
  /** An explicitly named kubeconfig file. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The configuration of the API server: the named file; otherwise, in a pod, its service account; otherwise what kubectl uses.
 * @throws Error if the file cannot be read.
 */
export function loadKubeConfig({ path, env }: KubeConfigSources): KubeConfig {
  const config = new KubeConfig();
  if (path !== undefined) config.loadFromFile(path);
  else if (env['KUBERNETES_SERVICE_HOST'] !== undefined) config.loadFromCluster();
  else config.loadFromDefault();
  return config;
}

/**
 * Characters that JSON leaves as they are, but YAML parsers do not: they reject DEL, C1 controls, the byte order mark and
 * noncharacters, and treat NEL, U+2028 and U+2029 as line breaks, whose surrounding spaces they drop.
 */
const misread = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** An escaped backslash, or a lone surrogate as JSON writes it. */
const halves = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;

/**
 * JSON of a value that can also be read as YAML: this is how the API server reads what is applied, and it rejects a whole status for one
 * character that a pod or a database has put into a text. A lone surrogate, which YAML cannot express, becomes U+FFFD.
 */
export function yamlText(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll(
      misread,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    .replaceAll(halves, (found) => (found === '\\\\' ? found : '\\ufffd'));
}
