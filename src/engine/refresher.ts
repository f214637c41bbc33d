import type { App } from "../context.ts";
import { keepGrants } from "../resources/openid/refresh.ts";
import type { Loop } from "./loop.ts";

/** Keeps sessions of the identity provider alive for as long as it stands for the person, and tells it of their end. */
export const refresher = (app: App): Loop => ({
  name: "refresher",
  tick: async () => ((await keepGrants(app)) > 0 ? "more" : "idle"),
});
