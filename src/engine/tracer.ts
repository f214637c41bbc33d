import type { Clock } from "../base/clock.ts";
import { type EgressOptions, openEgress } from "../base/egress.ts";
import type { Log } from "../base/log.ts";
import { openOtlp } from "../base/otlp.ts";
import { silentTracer, type Tracer } from "../base/trace.ts";
import type { Config, Secrets } from "../config.ts";
import { version } from "../version.ts";

interface Parts {
  config: Config;
  secrets: Secrets;
  egress: EgressOptions;
  clock: Clock;
  log: Log;
  bootId: string;
}

/** Sends traces to the collector that the operator names; silent where none is named. */
export function openTracer({ config, secrets, egress, clock, log, bootId }: Parts): Tracer {
  if (config.otlpUrl === null) return silentTracer;
  const { host } = new URL(config.otlpUrl);
  return openOtlp({
    url: `${config.otlpUrl}/v1/traces`,
    headers: pairsOf(secrets.otlpHeaders),
    resource: {
      "service.name": config.otlpService,
      "service.version": version,
      "service.instance.id": bootId,
    },
    ratio: config.otlpRatio,
    egress: openEgress({ ...egress, allow: [...egress.allow, host] }), // who names the collector may reach it
    clock,
    log,
  });
}

/** `NAME=VALUE` with commas between, values percent-encoded, as OpenTelemetry writes it. */
const pairsOf = (text: string | null): Record<string, string> =>
  Object.fromEntries(
    (text ?? "")
      .split(",")
      .map((pair) => pair.split("="))
      .filter(([name = ""]) => name.trim() !== "")
      .map(([name = "", ...value]) => [
        name.trim().toLowerCase(),
        decodeURIComponent(value.join("=").trim()),
      ]),
  );
