import ground from "../../migrations/0001_ground.sql" with { type: "text" };
import type { Migration } from "./migrate.ts";

/** In order, and never edited once released. Imported by name so that the executable carries them. */
export const migrations: readonly Migration[] = [{ name: "0001_ground", sql: ground }];
