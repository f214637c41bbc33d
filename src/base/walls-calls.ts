/** Linux system call numbers by processor, with the same names on both. */
export interface Calls {
  /** The architecture, as seccomp filters see it. */
  readonly arch: number;
  readonly unshare: number;
  readonly capset: number;
  readonly seccomp: number;
  readonly clone: number;
  readonly clone3: number;
  /** Calls that start another program. */
  readonly exec: readonly number[];
  /** Calls that no child needs: sockets, other processes, namespaces, mounts, modules, keys and clocks. */
  readonly denied: readonly number[];
}

/** Newer calls have the same number on all processors: mounts, io_uring and files of other processes. */
const DENIED = [425, 426, 427, 428, 429, 430, 431, 432, 433, 434, 438, 442];

export const CALLS: Readonly<Record<string, Calls>> = {
  x64: {
    arch: 0xc000003e,
    unshare: 272,
    capset: 126,
    seccomp: 317,
    clone: 56,
    clone3: 435,
    exec: [59, 322],
    denied: [
      ...DENIED,
      ...[41, 42, 49, 50], // socket, connect, bind, listen
      ...[57, 58, 101, 310, 311], // fork, vfork, ptrace, process_vm_readv, process_vm_writev
      ...[155, 161, 165, 166, 272, 308, 303, 304], // pivot_root, chroot, mount, umount2, unshare, setns, handles
      ...[163, 164, 167, 168, 169, 170, 171, 227], // acct, settimeofday, swapon, swapoff, reboot, names, clock
      ...[135, 175, 176, 246, 313, 320, 321, 298, 323], // personality, modules, kexec, bpf, perf, userfaultfd
      ...[248, 249, 250], // keys
    ],
  },
  arm64: {
    arch: 0xc00000b7,
    unshare: 97,
    capset: 91,
    seccomp: 277,
    clone: 220,
    clone3: 435,
    exec: [221, 281],
    denied: [
      ...DENIED,
      ...[198, 203, 200, 201],
      ...[117, 270, 271],
      ...[41, 51, 40, 39, 97, 268, 264, 265],
      ...[89, 170, 224, 225, 142, 161, 162, 112],
      ...[92, 105, 106, 104, 273, 294, 280, 241, 282],
      ...[217, 218, 219],
    ],
  },
};

/** Access rights below a path. */
export const RIGHTS = {
  execute: 1n << 0n,
  writeFile: 1n << 1n,
  readFile: 1n << 2n,
  readFolder: 1n << 3n,
  truncate: 1n << 14n,
} as const;

/** Returns all file access rights that a version of Landlock supports. */
export const rightsOf = (abi: number): bigint =>
  ((1n << 13n) - 1n) |
  (abi >= 2 ? 1n << 13n : 0n) |
  (abi >= 3 ? RIGHTS.truncate : 0n) |
  (abi >= 5 ? 1n << 15n : 0n);

const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const REFUSED = 0x00050001; // EPERM
const UNKNOWN = 0x00050026; // ENOSYS: makes the C library create threads with the older call
const NAMES_OF_X32 = 0x40000000;
/** CLONE_THREAD: a new thread rather than a new process. */
const THREAD = 0x00010000;

type Step = readonly [code: number, value: number, isTrue?: number, isFalse?: number];

/** A filter that rejects `denied`, and with `threadsOnly` every new process. */
export function filterOf(calls: Calls, denied: readonly number[], { threadsOnly = false } = {}): Uint8Array {
  const steps: Step[] = [
    [LOAD, 4],
    [EQUAL, calls.arch, 1, 0],
    [RETURN, REFUSED],
    [LOAD, 0],
    [AT_LEAST, NAMES_OF_X32, 0, 1],
    [RETURN, REFUSED],
    ...denied.flatMap((call): Step[] => [
      [EQUAL, call, 0, 1],
      [RETURN, REFUSED],
    ]),
  ];
  if (threadsOnly) {
    steps.push([EQUAL, calls.clone3, 0, 1], [RETURN, UNKNOWN]);
    steps.push([EQUAL, calls.clone, 0, 3], [LOAD, 16], [ANY_BIT, THREAD, 1, 0], [RETURN, REFUSED]);
  }
  steps.push([RETURN, ALLOW]);
  const bytes = new DataView(new ArrayBuffer(steps.length * 8));
  for (const [at, [code, value, isTrue = 0, isFalse = 0]] of steps.entries()) {
    bytes.setUint16(at * 8, code, true);
    bytes.setUint8(at * 8 + 2, isTrue);
    bytes.setUint8(at * 8 + 3, isFalse);
    bytes.setUint32(at * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
