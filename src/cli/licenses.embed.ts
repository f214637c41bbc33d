import type { Carried } from "./licenses.ts";

/** From source nothing is carried; the build puts a module in this one's place (`carryLicenses` of scripts/plugins.ts). */
export const openLicenses = async (): Promise<readonly Carried[] | null> => null;
