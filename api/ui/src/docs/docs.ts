/** API documentation: Swagger UI for /openapi.json. All of its files come from this server. */

import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

interface Parameter {
  example?: unknown;
  schema: { examples?: unknown[] };
}

interface OpenApi {
  paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
}

/**
 * Moves the example of each parameter into its schema. Swagger UI would otherwise enter it as the value of an optional
 * parameter and send it, such as the id of a generation that this server does not have.
 */
function moveExamples(document: OpenApi): OpenApi {
  for (const operations of Object.values(document.paths)) {
    for (const { parameters } of Object.values(operations)) {
      for (const parameter of parameters ?? []) {
        if (parameter.example === undefined) continue;
        parameter.schema.examples = [parameter.example];
        delete parameter.example;
      }
    }
  }
  return document;
}

const plugin = {
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update: (document: OpenApi) => unknown) => (document: OpenApi) => update(moveExamples(document)),
      },
    },
  },
};

SwaggerUI({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null, plugins: [plugin] });
