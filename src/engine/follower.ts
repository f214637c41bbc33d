import type { App } from "../context.ts";
import { openFollower } from "../flows/follow.ts";
import type { Loop } from "./loop.ts";

/** Starts the runs that automations have events for. */
export function follower(app: App): Loop {
  const trail = openFollower(app);
  return { name: "follower", tick: () => trail.tick() };
}
