import { AppError } from "../base/errors.ts";
import { residentBytes } from "../base/resident.ts";
import type { Chart, Charts, Drawn } from "./contract.ts";

const TIMEOUT_MS = 20_000;
const WATCH_MS = 100;
const MAX_BYTES = 768 * 1024 * 1024;

/** Charts drawn by `self` with the hidden word `__draw`: one process for each call, which ends with it. */
export function openCharts(self: readonly string[]): Charts {
  return {
    async draw(charts, signal) {
      if (charts.length === 0) return [];
      signal.throwIfAborted();
      const spawned = Bun.spawn([...self, "__draw"], {
        // Nothing of ours: no keys, no tokens, no proxies.
        env: { PATH: "/usr/local/bin:/usr/bin:/bin", TZ: "UTC" },
        stdin: new Blob([JSON.stringify(charts satisfies readonly Chart[])]),
        stdout: "pipe",
        stderr: "ignore",
        signal,
        killSignal: "SIGKILL",
        timeout: TIMEOUT_MS,
      });
      let isTooLarge = false;
      const watch = setInterval(() => {
        if (residentBytes(spawned.pid) <= MAX_BYTES) return;
        isTooLarge = true;
        spawned.kill("SIGKILL");
      }, WATCH_MS);
      try {
        const text = await new Response(spawned.stdout).text();
        const code = await spawned.exited;
        signal.throwIfAborted();
        if (code === 0) return JSON.parse(text) as Drawn[];
        throw isTooLarge || spawned.signalCode === "SIGKILL"
          ? new AppError(
              "definition_invalid",
              `The charts took ${isTooLarge ? "too much memory" : "too long"} to draw; show fewer marks, or aggregate in SQL.`,
            )
          : new AppError("internal", "The charts could not be drawn.", { cause: `exit code ${code}` });
      } finally {
        clearInterval(watch);
      }
    },
  };
}
