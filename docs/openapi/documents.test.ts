import assert from 'node:assert/strict';
import { Validator } from '@seriousme/openapi-schema-validator';
import { probePaths, type Route } from '../../service/http-server.ts';
import { syncerRoutes } from '../../syncer/api/routes.ts';
import { verifierRoutes } from '../../verifier/api/routes.ts';
import { apiPrograms, openApiDocument, type ApiProgram } from './documents.ts';
import { fieldRows } from './field-table.ts';

/** Nothing is asked of the programs: a route is made without calling them. */
const routes: Readonly<Record<ApiProgram, readonly Route[]>> = {
  syncer: syncerRoutes({} as Parameters<typeof syncerRoutes>[0]),
  verifier: verifierRoutes({} as Parameters<typeof verifierRoutes>[0]),
};

for (const program of apiPrograms) {
  describe(`the OpenAPI document of the ${program}`, () => {
    it('is valid OpenAPI 3.1, and every reference in it leads somewhere', async () => {
      const document = await openApiDocument(program);
      const validator = new Validator();
      const { valid, errors } = await validator.validate(structuredClone({ ...document }));
      assert.ok(valid, JSON.stringify(errors, null, 2));
      assert.equal(validator.version, '3.1');
      for (const [, path] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
        const found = path?.split('/').reduce<unknown>(step, document);
        assert.ok(found, `#/${path} leads nowhere`);
      }
    });

    it('has every route of the server, and no other', async () => {
      const { paths } = await openApiDocument(program);
      const documented = Object.entries(paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const served = [
        ...routes[program].map(({ method, path }) => `${method} ${path}`),
        ...probePaths.map((path) => `GET ${path}`),
      ];
      assert.deepEqual(documented.sort(), served.sort());
    });

    it('uses every part that it defines', async () => {
      const document = await openApiDocument(program);
      const text = JSON.stringify(document);
      for (const [kind, parts] of Object.entries(document.components)) {
        if (kind === 'securitySchemes') continue;
        for (const name of Object.keys(parts as object)) {
          assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name} is not used`);
        }
      }
    });
  });
}

describe('fieldRows', () => {
  it('tells the fields of objects by their paths, and refuses one that nobody has described', async () => {
    const document = await openApiDocument('syncer');
    const rows = fieldRows(document, 'SyncProgress');
    const row = rows.find(({ path }) => path === 'collectionCopy.estimatedCopiedBytes');
    assert.equal(row?.type, 'integer');
    assert.ok(rows.every(({ path }) => path !== 'collectionCopy'));
    const schemas = { X: { properties: { a: { type: 'string' } } } };
    const bare = { ...document, components: { schemas } };
    assert.throws(() => fieldRows(bare, 'X'), /a has no description/);
    assert.throws(() => fieldRows(bare, 'Y'), /no schema Y/);
  });
});

function step(node: unknown, key: string): unknown {
  const name = key.replaceAll('~1', '/');
  return typeof node === 'object' && node !== null
    ? (node as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
