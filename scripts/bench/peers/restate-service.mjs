// Copied next to Restate's packages and run on Node: one service, one handler, one durable step.
import * as restate from "@restatedev/restate-sdk";

const bench = restate.service({
  name: "bench",
  handlers: {
    run: async (ctx, payload) => ({
      branch: await ctx.run("branch", () => (payload.order.total > 100 ? "big" : "small")),
    }),
  },
});
restate.serve({ services: [bench], port: Number(process.argv[2]) });
