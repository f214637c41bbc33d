import type { Carried } from "./licenses.ts";

/**
 * Nothing is embedded when run from source. The build replaces this module (`carryLicenses` of scripts/plugins.ts).
 */
export const openLicenses = async (): Promise<readonly Carried[] | null> => null;
