import { dlopen, ptr } from "bun:ffi";
import { closeSync, constants, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { CALLS, type Calls, filterOf, RIGHTS, rightsOf } from "./walls-calls.ts";

/** Paths that a child can reach besides the program and system libraries. Absolute. */
export interface ReachablePaths {
  read: readonly string[];
  write: readonly string[];
}

/** A sandbox layer around a child, and why it is missing. */
export interface Wall {
  name: "privileges" | "limits" | "network" | "files" | "calls" | "capabilities" | "programs";
  /** Null if it is active. */
  lacks: string | null;
}

const LIBRARIES = ["libc.so.6", `libc.musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`];
/** Read by the runtime and its libraries. Missing ones are ignored. */
const SYSTEM = [
  ...[
    "/usr",
    "/lib",
    "/lib64",
    "/lib32",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/etc/ssl",
  ],
  ...[
    "/dev/null",
    "/dev/zero",
    "/dev/urandom",
    "/dev/random",
    "/proc/self",
    "/proc/meminfo",
    "/proc/cpuinfo",
  ],
  ...["/proc/stat", "/proc/sys/vm", "/sys/fs/cgroup", "/sys/devices/system/cpu", "/sys/kernel/mm"],
];
const MAX_FILES = 16_384;
const DAC_OVERRIDE = 1 << 1;

type Libc = ReturnType<typeof openLibc>;

function openLibc() {
  const symbols = {
    syscall: { args: ["i64", "i64", "i64", "i64", "i64", "i64"], returns: "i64" },
    prctl: { args: ["i32", "i64", "i64", "i64", "i64"], returns: "i32" },
    setrlimit: { args: ["i32", "ptr"], returns: "i32" },
    fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
    execve: { args: ["cstring", "ptr", "ptr"], returns: "i32" },
    getenv: { args: ["cstring"], returns: "cstring" },
  } as const;
  let fault: unknown;
  for (const library of LIBRARIES) {
    try {
      return dlopen(library, symbols).symbols;
    } catch (error) {
      fault = error;
    }
  }
  throw fault;
}

const address = (bytes: Uint8Array | BigUint64Array): bigint => BigInt(ptr(bytes));

type Environment = Readonly<Record<string, string | undefined>>;

/** Environment of a child that can reach these paths. */
export const envFor = (paths: ReachablePaths): Record<string, string> => ({
  WEIR_PLACES: JSON.stringify(paths),
});

/**
 * Sandboxes this process before it gets any input, and executes `command` in its place, so that all threads are
 * sandboxed from the start. There, returns the state of each layer. `sources` are the program's files in a source tree.
 */
export function standBehindWalls(
  command: readonly string[],
  sources: readonly string[],
  { WEIR_PLACES: paths, WEIR_WALLS: raised, ...env }: Environment,
): Wall[] {
  if (raised !== undefined) return [...JSON.parse(raised), closeWalls()];
  const { walls, channel } = raiseWalls(paths === undefined ? NOTHING : JSON.parse(paths), sources);
  if (channel === null) return walls;
  const passedOn = {
    ...env,
    WEIR_WALLS: JSON.stringify(walls),
    ...channel,
  };
  const settings = Object.entries(passedOn).map(([name, value]) => `${name}=${value ?? ""}`);
  // not `process.execve`, which closes the channel
  const texts = [command, settings].map((list) => list.map((text) => Buffer.from(`${text}\0`)));
  const [words, variables] = texts.map((list) => BigUint64Array.from([...list.map(address), 0n]));
  if (words && variables && texts[0]?.[0]) openLibc().execve(texts[0][0], ptr(words), ptr(variables));
  throw new Error("The executable can't start itself again.");
}

const NOTHING: ReachablePaths = { read: [], write: [] };

/**
 * First half, before the child gets any input: sets up what an exec passes on to every thread of the new program.
 * Returns the layers and the settings of the channel to the parent, which survives the exec.
 * Null if there are none, and so no need for an exec.
 */
function raiseWalls(
  paths: ReachablePaths,
  program: readonly string[],
): { walls: Wall[]; channel: Record<string, string> | null } {
  const calls = CALLS[process.arch];
  if (process.platform !== "linux" || calls === undefined) {
    const lacks = `${process.platform} on ${process.arch} isn't supported`;
    return { walls: NAMES.map((name) => ({ name, lacks })), channel: null };
  }
  const libc = openLibc();
  const walls: Wall[] = [];
  const put = (name: Wall["name"], raise: () => string | null) => void walls.push({ name, lacks: raise() });
  const isRoot = process.getuid?.() === 0;
  put("privileges", () => refused(libc.prctl(38, 1n, 0n, 0n, 0n), "no_new_privs"));
  put("limits", () => limit(libc, 4, 0n) ?? limit(libc, 7, BigInt(MAX_FILES)));
  put("network", () =>
    isRoot
      ? refused(libc.syscall(BigInt(calls.unshare), 0x40000000n, 0n, 0n, 0n, 0n), "a separate network")
      : "a separate network requires root; sockets are blocked instead",
  );
  put("files", () => fence(libc, paths, program));
  const hasFence = walls.at(-1)?.lacks === null;
  put("calls", () => filter(libc, filterOf(calls, calls.denied, { threadsOnly: true })));
  put("capabilities", () => (isRoot ? drop(libc, calls, hasFence ? DAC_OVERRIDE : 0) : null));
  // the runtime removes these from its own environment
  const channel = ["NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE"].map((name) => [
    name,
    String(libc.getenv(Buffer.from(`${name}\0`)) ?? ""),
  ]);
  const [descriptor = ""] = channel[0]?.slice(1) ?? [];
  if (descriptor !== "") libc.fcntl(Number(descriptor), 2, 0);
  return { walls, channel: descriptor === "" ? {} : Object.fromEntries(channel) };
}

/** Makes the kernel end this process when its parent ends, even if it is busy. */
export function dieWithParent(): void {
  if (process.platform === "linux") openLibc().prctl(1, 9n, 0n, 0n, 0n);
}

const NAMES: readonly Wall["name"][] = [
  ...(["privileges", "limits", "network", "files", "calls", "capabilities", "programs"] as const),
];

/** Second half, after the exec: from now on, no thread can run another program. */
function closeWalls(): Wall {
  const calls = CALLS[process.arch];
  if (process.platform !== "linux" || calls === undefined)
    return { name: "programs", lacks: "not available on this system" };
  const code = filterOf(calls, calls.exec);
  const head = headOf(code);
  const libc = openLibc();
  // TSYNC: all threads at once
  const result = libc.syscall(BigInt(calls.seccomp), 1n, 1n, address(head), 0n, 0n);
  return { name: "programs", lacks: refused(Number(result), "seccomp") };
}

const refused = (result: number | bigint, what: string): string | null =>
  Number(result) === 0 ? null : `the kernel refuses ${what}`;

function limit(libc: Libc, resource: number, most: bigint): string | null {
  return refused(libc.setrlimit(resource, ptr(BigUint64Array.of(most, most))), "a limit");
}

/** The filter in the kernel's format: number of instructions and their address. */
function headOf(code: Uint8Array): Uint8Array {
  const head = new DataView(new ArrayBuffer(16));
  head.setUint16(0, code.length / 8, true);
  head.setBigUint64(8, address(code), true);
  return new Uint8Array(head.buffer);
}

function filter(libc: Libc, code: Uint8Array): string | null {
  return refused(libc.prctl(22, 2n, address(headOf(code)), 0n, 0n), "seccomp");
}

/** Drops root's capabilities. With a fence, one is kept, to read the program's files if another user owns them. */
function drop(libc: Libc, calls: Calls, kept: number): string | null {
  const head = new Uint8Array(new Uint32Array([0x20080522, 0]).buffer);
  const rights = new Uint8Array(new Uint32Array([kept, kept, 0, 0, 0, 0]).buffer);
  return refused(
    libc.syscall(BigInt(calls.capset), address(head), address(rights), 0n, 0n, 0n),
    "to drop capabilities",
  );
}

/** Landlock: allows only files in `paths`, of the program and of the system. */
function fence(libc: Libc, paths: ReachablePaths, program: readonly string[]): string | null {
  const abi = Number(libc.syscall(444n, 0n, 0n, 1n, 0n, 0n));
  if (abi < 1) return "the kernel has no Landlock";
  const all = rightsOf(abi);
  const handled = BigUint64Array.of(all, abi >= 4 ? 3n : 0n, abi >= 6 ? 3n : 0n);
  const size = abi >= 6 ? 24n : abi >= 4 ? 16n : 8n;
  const rules = Number(libc.syscall(444n, address(handled), size, 0n, 0n, 0n));
  if (rules < 0) return "the kernel refuses Landlock";
  const { execute, readFile, readFolder, writeFile } = RIGHTS;
  const read = readFile | readFolder;
  try {
    for (const path of [...SYSTEM, "/proc/self/exe", ...program])
      allow(libc, rules, path, (read | execute) & all);
    // only names: the runtime looks for packages there
    for (const path of program) allow(libc, rules, dirname(path), readFolder);
    allow(libc, rules, "/dev/null", (read | writeFile) & all);
    for (const path of paths.read) allow(libc, rules, path, read & all);
    for (const path of paths.write) allow(libc, rules, path, all & ~execute);
    return refused(libc.syscall(446n, BigInt(rules), 0n, 0n, 0n, 0n), "Landlock");
  } finally {
    closeSync(rules);
  }
}

const O_PATH = 0o10000000;

function allow(libc: Libc, rules: number, path: string, rights: bigint): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return;
  const { execute, readFile, truncate, writeFile } = RIGHTS;
  const granted = found.isDirectory() ? rights : rights & (execute | readFile | writeFile | truncate);
  const file = openSync(path, constants.O_RDONLY | O_PATH);
  try {
    const rule = new DataView(new ArrayBuffer(12));
    rule.setBigUint64(0, granted, true);
    rule.setInt32(8, file, true);
    libc.syscall(445n, BigInt(rules), 1n, address(new Uint8Array(rule.buffer)), 0n, 0n);
  } finally {
    closeSync(file);
  }
}
