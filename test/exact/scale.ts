import { scaled } from "../support/scale.ts";

/** How much the tests in this folder do, unless these variables override it. */
const given = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

/** Number of tables per kind of source. */
export const TABLES = given("EXACT_TABLES", scaled(4, 1_500));

/** Whether coverage matters more than time. Each source then also prints its speed. */
export const IS_DEEP = TABLES > 100;

/** Rounds of changes, loads and kills. */
export const ROUNDS = given("EXACT_ROUNDS", scaled(2, 50));

/** Seed of the tables; another seed generates others. */
export const SEED = given("EXACT_SEED", 20_260_301);

/** Number of rows before the one that differs. */
export const LATE = IS_DEEP ? [2048, 20_480, 100_000] : [2048];
