import type { OpenApiDocument } from '../../docs/openapi/documents.ts';
import type { SchemaNode } from '../../crds/json-schema.ts';
import type { SeededRandom } from '../ground/workload/seeded-random.ts';
import { bodyText, valueFor } from './hostile-values.ts';

/** A request to be sent as it is. */
export interface FuzzedRequest {
  readonly method: string;
  readonly target: string;
  /** One after the other, also of the same name. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

const strangeMethods = [
  'PUT',
  'DELETE',
  'PATCH',
  'HEAD',
  'OPTIONS',
  'PROPFIND',
  'TRACE',
  'M-SEARCH',
];

const strangePaths = [
  ...['/', '//', '/api', '/api/v1', '/api/v1/', '/api/v2/start', '/API/V1/START', '/metrics/'],
  ...['/api/v1/start/', '/api/v1/%73tart', '/api/v1/start%00', '/api/v1/../v1/start', '/%', '/%zz'],
  ...['/constructor', '/__proto__', '/api/v1/__proto__', '//[', '/\u00ff', `/${'x'.repeat(7_000)}`],
];

const strangeQueries = [
  ...[
    '?',
    '?limit=0',
    '?limit=-1',
    '?limit=1e3',
    '?limit=1001',
    '?limit=',
    '?limit=99999999999999999',
  ],
  ...[
    '?limit=1&limit=2',
    '?after=%00',
    '?after=%ff%fe',
    '?after=%',
    '?after=%ED%A0%80',
    '?%',
    '?a=b',
  ],
  ...[
    '?limit[$gt]=1',
    '?after={"$gt":""}',
    '?__proto__=1',
    '?after=' + 'x'.repeat(5_000),
    '?#',
    '??',
  ],
  ...[
    '?after=shop.orders',
    '?limit=10&after=shop',
    '?after=eyJhIjoxfQ==',
    '?after=' + '['.repeat(3_000),
  ],
];

const strangeHeaders: readonly (readonly [string, string])[] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', '/;;='],
  ['Content-Type', 'application/json, text/html'],
  ['Content-Encoding', 'gzip'],
  ['Origin', 'null'],
  ['Origin', 'http://['],
  ['Origin', 'http://evil.example'],
  ['Host', 'evil.example'],
  ['Host', '['],
  ['Host', 'a b'],
  ['Host', '127.0.0.1:99999'],
  ['X-Forwarded-Host', '['],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Authorization', 'Bearer '],
  ['Authorization', `Bearer ${'x'.repeat(5_000)}`],
  ['Authorization', 'Basic eDp4'],
  ['Clustersync-Options-Digest', ''],
  ['Clustersync-Options-Digest', 'x'.repeat(5_000)],
  ['Clustersync-Options-Digest', '0'.repeat(64)],
  ['Cookie', '__proto__=1; a=\u00ff'],
  ['Expect', '100-continue'],
  ['Expect', 'something'],
  ['Range', 'bytes=0-0,1-1'],
  ['If-None-Match', '*'],
  ['Accept', 'application/xml'],
  ['Accept-Encoding', 'gzip;q=,,br;;q=x'],
  ['Last-Event-ID', '\u00ff'],
  ['Upgrade', 'h2c'],
  ['__proto__', 'x'],
];

/**
 * Requests that a document describes, each wrong in some way, or in none, the same for the same seed.
 * @param token - what the server asks for; undefined where it asks for none.
 */
export function fuzzedRequest(
  document: OpenApiDocument,
  token: string | undefined,
  random: SeededRandom,
): FuzzedRequest {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const { path, method, operation } = random.pick(operations);
  const schema = schemaOf(document, operation.requestBody?.$ref);
  const isBodyGiven = schema !== undefined || random.chance(0.2);
  const value = valueFor(schema ?? {}, document.components.schemas, random);
  const body = isBodyGiven ? bodyText(value, random) : Buffer.alloc(0);
  return mangled({ method: method.toUpperCase(), path, body }, token, random);
}

/** What a place in a path is filled in with. */
const strangeNames = [
  ...['%00', '%', '%ff%fe', '%ED%A0%80', '%2e%2e', '..', '%2F', '%0d%0aX-Evil:%201', '__proto__'],
  ...['%1b%5b2J', '%E2%80%AEevil', 'constructor', 'x'.repeat(3_000), '', 'stream', '%25%32%66'],
];

/**
 * Requests for routes that have no document, each wrong in some way, or in none, the same for the same seed.
 * @param paths - with places, as `/a/{b}`.
 * @param names - what places are filled in with, besides strange names.
 */
export function fuzzedLook(
  paths: readonly string[],
  names: readonly string[],
  token: string | undefined,
  random: SeededRandom,
): FuzzedRequest {
  const path = random
    .pick(paths)
    .replaceAll(/\{\w+\}/g, () => random.pick(random.chance(0.5) ? names : strangeNames));
  const body = random.chance(0.2) ? bodyText({}, random) : Buffer.alloc(0);
  return mangled({ method: 'GET', path, body }, token, random);
}

interface Whole {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

function mangled(
  { method, path, body }: Whole,
  token: string | undefined,
  random: SeededRandom,
): FuzzedRequest {
  const headers: (readonly [string, string])[] = [
    ['Host', '127.0.0.1'],
    ['Content-Type', 'application/json'],
    ...(token === undefined ? [] : ([['Authorization', `Bearer ${token}`]] as const)),
  ];
  if (random.chance(0.05)) headers.splice(random.below(headers.length), 1);
  while (random.chance(0.3)) {
    const header = random.pick(strangeHeaders);
    const same = headers.findIndex(([name]) => name === header[0]);
    // In place of the right one, or besides.
    if (same >= 0 && random.chance(0.7)) headers[same] = header;
    else headers.push(header);
  }
  return {
    method: random.chance(0.08) ? random.pick(strangeMethods) : method,
    target:
      (random.chance(0.08) ? random.pick(strangePaths) : path) +
      (random.chance(0.25) ? random.pick(strangeQueries) : ''),
    headers,
    body,
  };
}

/** The bytes of a request, after which the server closes the connection. */
export function bytesOf({ method, target, headers, body }: FuzzedRequest): Buffer {
  const lines = [...headers, ['Connection', 'close'] as const].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const length = `Content-Length: ${body.length}\r\n`;
  const head = `${method} ${target} HTTP/1.1\r\n${lines.join('')}${length}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

/** The schema of the body that a document refers to as `#/components/requestBodies/<name>`. */
function schemaOf(document: OpenApiDocument, ref: string | undefined): SchemaNode | undefined {
  const name = ref?.split('/').at(-1);
  if (name === undefined) return undefined;
  const bodies = document.components['requestBodies'] as Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: SchemaNode }>> }>
  >;
  return bodies[name]?.content['application/json']?.schema;
}
