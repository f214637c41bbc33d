import { scaled } from "../support/scale.ts";

/** How much the tests of this folder do, unless these variables say otherwise. */
const given = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

/** Tables for each kind of source. */
export const TABLES = given("EXACT_TABLES", scaled(4, 1_500));

/** True where time matters less than how much was looked at; then each source tells how quick it was, too. */
export const IS_DEEP = TABLES > 100;

/** Rounds of changes, loads and kills. */
export const ROUNDS = given("EXACT_ROUNDS", scaled(2, 50));

/** What the tables are made from; another seed makes others. */
export const SEED = given("EXACT_SEED", 20_260_301);

/** How many rows stand before the one that is different. */
export const LATE = IS_DEEP ? [2048, 20_480, 100_000] : [2048];
