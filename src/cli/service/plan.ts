import { AppError } from "../../base/errors.ts";
import type { ServicePlan, ServiceRequest } from "./contract.ts";
import { launchdPlan } from "./launchd.ts";
import { systemdPlan } from "./systemd.ts";
import { taskPlan } from "./task.ts";

const PLANS: Readonly<Record<string, (request: ServiceRequest) => ServicePlan>> = {
  linux: systemdPlan,
  darwin: launchdPlan,
  win32: taskPlan,
};

/** Throws `not_available` on other platforms, and `bad_request` for a path that a definition can't contain. */
export function planFor(platform: string, request: ServiceRequest): ServicePlan {
  const make = PLANS[platform];
  if (!make) throw new AppError("not_available", `weir service doesn't support ${platform}.`);
  const odd = request.command.find((word) => /\p{Cc}/u.test(word));
  if (odd !== undefined)
    throw new AppError("bad_request", `A service can't have control characters in ${JSON.stringify(odd)}.`);
  return make(request);
}
