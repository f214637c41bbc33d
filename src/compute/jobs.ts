import type { JsonObject } from "../base/json.ts";
import { type ConditionsWork, conditionsJob } from "../executors/branch-choice.ts";
import { type HttpWork, type NextPageWork, nextPageJob, resultJob } from "../executors/http/result.ts";
import { searchJob } from "../providers/http-template/search.ts";
import type { Computed, ComputeName } from "./contract.ts";
import { type FillWork, fillJob } from "./fill.ts";
import { type MaskWork, maskJob } from "./mask.ts";

type Job = (input: JsonObject, bytes: Buffer) => Computed | Promise<Computed>;

/** Jobs of the child process by name. */
export const jobs: Readonly<Record<ComputeName, Job>> = {
  conditions: (input, bytes) => conditionsJob(input as unknown as ConditionsWork, bytes),
  fill: (input, bytes) => fillJob(input as unknown as FillWork, bytes),
  http_next_page: (input, bytes) => nextPageJob(input as unknown as NextPageWork, bytes),
  http_result: (input, bytes) => resultJob(input as unknown as HttpWork, bytes),
  mask: (input, bytes) => maskJob(input as unknown as MaskWork, bytes),
  search: (input, bytes) => searchJob({ expression: String(input.expression) }, bytes),
};
