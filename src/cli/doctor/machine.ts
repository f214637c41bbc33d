import { contains, parseCidr } from "../../base/cidr.ts";
import { type Clock, timestamp } from "../../base/clock.ts";
import type { Wall } from "../../base/walls.ts";
import type { Config } from "../../config.ts";
import { readTls } from "../tls.ts";
import { type Finding, fine, wrong } from "./finding.ts";

const WATCHED_MS = 50;
const JUMP_MS = 1_000;
/** No release is older. */
const LEAST_YEAR = 2025;
const MOST_YEAR = 2100;
/** A time zone with daylight saving time. */
const ZONE = "Europe/Berlin";
/** Addresses where cloud machines get their own credentials. */
const METADATA = ["169.254.169.254", "fd00:ec2::254"];

export async function checkClock(clock: Clock): Promise<Finding> {
  const [wall, monotonic] = [clock.now().getTime(), clock.monotonic()];
  await clock.sleep(WATCHED_MS);
  const passed = clock.monotonic() - monotonic;
  const drift = clock.now().getTime() - wall - passed;
  const year = clock.now().getUTCFullYear();
  if (passed <= 0 || Math.abs(drift) > JUMP_MS || year < LEAST_YEAR || year > MOST_YEAR) {
    return wrong(
      "clock",
      `The clock shows ${timestamp(clock)} and drifted by ${Math.round(drift)} ms during the check.`,
      "Synchronize it with NTP (timedatectl set-ntp true).",
    );
  }
  if (offsetOf("2026-01-15T12:00:00Z") === offsetOf("2026-07-15T12:00:00Z")) {
    return wrong(
      "clock",
      "The system's time zones have no daylight saving time, so schedules would run at the wrong hour.",
      "Install the system's time zone data (tzdata), or unset TZDIR and ICU_DATA.",
    );
  }
  return fine("clock", `The current time is ${timestamp(clock)}. Time zone data is available.`);
}

const WALL_NAMES: Readonly<Record<Wall["name"], string>> = {
  privileges: "no new privileges",
  limits: "resource limits",
  network: "no network",
  files: "only their own files (Landlock)",
  calls: "few system calls (seccomp)",
  capabilities: "no capabilities",
  programs: "no other programs",
};

/**
 * Checks the sandbox of the processes that run SQL, draw charts and read files:
 * which layers are active, and why others aren't.
 */
export async function checkWalls(self: readonly string[]): Promise<Finding> {
  const child = Bun.spawn([...self, "__walls"], {
    env: {},
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const walls: Wall[] = JSON.parse(await new Response(child.stdout).text());
  const named = (is: boolean) => walls.filter(({ lacks }) => (lacks === null) === is);
  const standing = named(true).map(({ name }) => WALL_NAMES[name]);
  const missing = named(false).map(({ name, lacks }) => `${WALL_NAMES[name]}: ${lacks}`);
  const parts = [
    standing.length > 0 ? `Sandbox of processes for SQL, charts and files: ${standing.join(", ")}.` : "",
    missing.length > 0 ? `Not in effect: ${missing.join("; ")}.` : "",
  ];
  return fine("children", parts.filter(Boolean).join(" "));
}

const DAY_MS = 86_400_000;
/** Certificates that renew automatically do so a month before they expire. */
const SOON_DAYS = 14;

/** Checks whether the certificate is usable, and for how long. */
export function checkTls(config: Config, clock: Clock): Finding {
  const validTo = readTls(config)?.validTo ?? "";
  const days = Math.floor((Date.parse(validTo) - clock.now().getTime()) / DAY_MS);
  if (days < SOON_DAYS) {
    return wrong(
      "tls",
      days < 0
        ? `The certificate expired on ${validTo}.`
        : `The certificate expires on ${validTo}, in ${days} days.`,
      "Renew it, replace the file in WEIR_TLS_CERT, and restart the server.",
    );
  }
  return fine("tls", `The certificate is valid until ${validTo}.`);
}

const offsetOf = (instant: string) =>
  new Intl.DateTimeFormat("en", { timeZone: ZONE, hour: "2-digit", hourCycle: "h23" }).format(
    new Date(instant),
  );

/** Checks whether `WEIR_EGRESS_ALLOW` is wider than probably intended. */
export function checkEgress(allow: readonly string[]): Finding {
  const wide = allow.filter(isTooWide);
  if (wide.length > 0) {
    return wrong(
      "egress",
      `WEIR_EGRESS_ALLOW includes ${wide.join(", ")}. Anyone who can edit actions can reach it, including cloud metadata credentials at ${METADATA[0]}.`,
      "List only the hosts you need, such as db.internal:5432.",
    );
  }
  if (allow.length === 0) return fine("egress", "Connections to private addresses are blocked.");
  return fine("egress", `Private addresses allowed: ${allow.join(", ")}.`);
}

function isTooWide(entry: string): boolean {
  const range = /[/:]/.test(entry) || /^[\d.]+$/.test(entry) ? rangeOf(entry) : null;
  return range !== null && METADATA.some((address) => contains(range, address));
}

function rangeOf(entry: string) {
  for (const text of [entry, entry.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1")]) {
    try {
      const range = parseCidr(text);
      if (range !== null) return range;
    } catch {
      // a name with a port, not a range
    }
  }
  return null;
}
