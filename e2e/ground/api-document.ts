import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import {
  openApiDocument,
  type ApiProgram,
  type OpenApiDocument,
  type Operation,
} from '../../docs/openapi/documents.ts';

/** A request to an API, and what was answered. */
export interface Exchange {
  readonly method: 'GET' | 'POST';
  /** With or without what follows a question mark. */
  readonly path: string;
  /** Undefined for a GET. */
  readonly requestBody?: unknown;
  readonly status: number;
  readonly body: unknown;
}

/**
 * Holds what was said over HTTP against the OpenAPI document of the program: the answer is as the document says, and a request that
 * was taken is one that it allows. Requests with an unknown path or method are ignored.
 * @throws Error that names what is otherwise.
 */
export async function requireDocumented(program: ApiProgram, exchange: Exchange): Promise<void> {
  const described = (documents[program] ??= openApiDocument(program).then(describedBy));
  const { document, validatorOf } = await described;
  const path = exchange.path.replace(/\?.*/s, '');
  const method = exchange.method.toLowerCase();
  const operation = document.paths[path]?.[method];
  if (!operation) return;
  const place = ['paths', path, method];
  const { status, body } = exchange;
  const key = answerKey(operation, status);
  if (key === undefined) throw new Error(`${method} ${path}: ${status} is not documented`);
  require(validatorOf([...place, 'responses', key]), body, `${method} ${path} answers ${status}`);
  if (status === 200 && operation.requestBody) {
    const validate = validatorOf([...place, 'requestBody']);
    require(validate, exchange.requestBody, `${method} ${path} has taken`);
  }
}

interface Described {
  readonly document: OpenApiDocument;
  /** Validates the JSON of a response or a request body, which is given by its path in the document. */
  readonly validatorOf: (path: readonly string[]) => ValidateFunction;
}

const documents: Partial<Record<ApiProgram, Promise<Described>>> = {};

function describedBy(document: OpenApiDocument): Described {
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  ajv.addSchema(document, 'document');
  return {
    document,
    validatorOf: (path) => {
      const node = at(document, path);
      const referred = (node as { readonly $ref?: string }).$ref?.slice('#/'.length).split('/');
      const steps = [...(referred ?? path), 'content', 'application/json', 'schema'];
      const pointer = steps.map((name) => encodeURIComponent(name.replaceAll('/', '~1'))).join('/');
      const validate = ajv.getSchema(`document#/${pointer}`);
      if (!validate) throw new Error(`the document has no ${steps.join(' > ')}`);
      return validate;
    },
  };
}

/** Ranges such as 4XX apply to statuses that are not listed. */
function answerKey({ responses }: Operation, status: number): string | undefined {
  const keys = [String(status), `${Math.floor(status / 100)}XX`];
  return keys.find((key) => key in responses);
}

function at(node: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((each, name) => (each as Record<string, unknown>)[name], node);
}

function require(validate: ValidateFunction, value: unknown, what: string): void {
  if (validate(value)) return;
  const wrong = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  throw new Error(`${what} ${JSON.stringify(value)}, not as documented:\n${wrong.join('\n')}`);
}
