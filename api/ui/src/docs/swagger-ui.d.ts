/** The build for bundlers, of which the package has no types of its own. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  import type { SwaggerUIBundle } from "swagger-ui-dist";

  const bundle: typeof SwaggerUIBundle;
  export default bundle;
}
