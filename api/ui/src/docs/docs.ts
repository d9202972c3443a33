/** API documentation: Swagger UI for /openapi.json. All of its files come from this server. */

import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

SwaggerUI({ url: "/openapi.json", dom_id: "#docs", deepLinking: true, validatorUrl: null });
