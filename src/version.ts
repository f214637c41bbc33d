import { version as packageVersion } from "../package.json";

/** Set by the build. Undefined when run from source. */
declare const WEIR_COMMIT: string | undefined;

/** Set by the build: the public key that `weir upgrade` verifies releases with. Undefined without one. */
declare const WEIR_RELEASE_KEY: string | undefined;

/** From package.json. In the executable, from the time of the build. */
export const version: string = packageVersion;

/** The commit of the executable. Null when run from source or built outside git. */
export const commit: string | null = typeof WEIR_COMMIT === "string" ? WEIR_COMMIT : null;

/** SPKI in base64. Null in a build without a key, and when run from source. */
export const releaseKey: string | null = typeof WEIR_RELEASE_KEY === "string" ? WEIR_RELEASE_KEY : null;
