/** Types of the package's build for bundlers. The package itself has none for it. */
declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  import type { SwaggerUIBundle } from "swagger-ui-dist";

  const bundle: typeof SwaggerUIBundle;
  export default bundle;
}
