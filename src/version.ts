import { version as packageVersion } from "../package.json";

/** The build writes the commit in; from source there is none. */
declare const WEIR_COMMIT: string | undefined;

/** Likewise: the public key that `weir upgrade` checks a release with, where the builder had one. */
declare const WEIR_RELEASE_KEY: string | undefined;

/** Of package.json; in the executable as it stood when it was built. */
export const version: string = packageVersion;

/** The commit that the executable was built from, null when run from source or built outside git. */
export const commit: string | null = typeof WEIR_COMMIT === "string" ? WEIR_COMMIT : null;

/** SPKI in base64; null in a build without one, and from source. */
export const releaseKey: string | null = typeof WEIR_RELEASE_KEY === "string" ? WEIR_RELEASE_KEY : null;
