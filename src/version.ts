import { version as packageVersion } from "../package.json";

/** The build writes the commit in; from source there is none. */
declare const WEIR_COMMIT: string | undefined;

/** Of package.json; in the executable as it stood when it was built. */
export const version: string = packageVersion;

/** The commit that the executable was built from, null when run from source or built outside git. */
export const commit: string | null = typeof WEIR_COMMIT === "string" ? WEIR_COMMIT : null;
