import type { Clock } from "../base/clock.ts";
import { ConfigError } from "../base/config-error.ts";
import { type EgressOptions, openEgress } from "../base/egress.ts";
import { toOwn } from "../base/egress-gate.ts";
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

/** Sends traces to the configured collector. Does nothing if none is configured. */
export function openTracer({ config, secrets, egress, clock, log, bootId }: Parts): Tracer {
  if (config.otlpUrl === null) return silentTracer;
  return openOtlp({
    url: `${config.otlpUrl}/v1/traces`,
    headers: pairsOf(secrets.otlpHeaders),
    resource: {
      "service.name": config.otlpService,
      "service.version": version,
      "service.instance.id": bootId,
    },
    ratio: config.otlpRatio,
    egress: openEgress(toOwn(egress, config.otlpUrl)),
    clock,
    log,
  });
}

const PAIR = /^\s*([\w!#$&'*+.^`|~-]+)\s*=(.*)$/;

/**
 * Parses `NAME=VALUE` pairs separated by commas, with percent-encoded values, as OpenTelemetry defines. Throws
 * `ConfigError`.
 */
function pairsOf(text: string | null): Record<string, string> {
  const pairs = (text ?? "").split(",").filter((pair) => pair.trim() !== "");
  try {
    return Object.fromEntries(
      pairs.map((pair) => {
        const [, name = "", value = ""] = PAIR.exec(pair) ?? [];
        if (name === "") throw new URIError("A header has no name.");
        return [name.toLowerCase(), decodeURIComponent(value.trim())];
      }),
    );
  } catch (cause) {
    throw new ConfigError(
      "Invalid OTEL_EXPORTER_OTLP_HEADERS. Use a comma-separated list of NAME=VALUE with percent-encoded values.",
      { cause },
    );
  }
}
