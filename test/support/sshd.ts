import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";

const program = (name: string): string | null =>
  Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` });

/** Whether the machine has OpenSSH's server. Debian's package is `openssh-server`. */
export const hasSshd = program("sshd") !== null && program("ssh-keygen") !== null;

const START_TRIES = 300;

/**
 * OpenSSH's server on a free port, for the user who runs the tests, with a key.
 * `await using` stops it and deletes its folder.
 */
export async function startSshd(lines: readonly string[] = []) {
  const folder = mkdtempSync(join(tmpdir(), "weir-sshd-"));
  const root = join(folder, "files");
  mkdirSync(root);
  chmodSync(folder, 0o700);
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true });
  const makeKey = (name: string, type: string, passphrase = "") => {
    const made = Bun.spawnSync([
      ...[program("ssh-keygen") ?? "", "-q", "-t", type, "-N", passphrase, "-f", join(folder, name)],
    ]);
    if (!made.success) throw new Error(`ssh-keygen failed: ${made.stderr}`);
  };
  const read = (name: string) => readFileSync(join(folder, name), "utf8").trim();
  makeKey("host", "ed25519");
  makeKey("host-rsa", "rsa");
  makeKey("user", "ed25519");
  makeKey("guarded", "ed25519", "a passphrase");
  makeKey("stranger", "ed25519");
  writeFileSync(join(folder, "authorized_keys"), `${read("user.pub")}\n${read("guarded.pub")}\n`);
  const port = await freePort();
  const config = [
    ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${join(folder, "host")}`],
    ...[`HostKey ${join(folder, "host-rsa")}`, `PidFile ${join(folder, "pid")}`],
    ...[`AuthorizedKeysFile ${join(folder, "authorized_keys")}`, "StrictModes no", "UsePAM no"],
    ...[
      "PasswordAuthentication no",
      "PermitRootLogin yes",
      "MaxStartups 200",
      "Subsystem sftp internal-sftp",
    ],
    ...lines,
  ];
  writeFileSync(join(folder, "sshd_config"), config.join("\n"));
  let server: Bun.Subprocess | null = null;
  const start = async () => {
    // It starts itself again for each sign-in, which requires its absolute path.
    server = Bun.spawn([program("sshd") ?? "", "-D", "-e", "-f", join(folder, "sshd_config")], {
      stdio: ["ignore", "ignore", "ignore"],
    });
    for (let tries = 0; ; tries++) {
      const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(
        () => null,
      );
      if (socket) return void socket.end();
      if (tries > START_TRIES || server.exitCode !== null) throw new Error("sshd did not start.");
      await Bun.sleep(20);
    }
  };
  const stop = async () => {
    server?.kill("SIGKILL");
    await server?.exited;
  };
  await start();
  return {
    port,
    /** The root folder of the tests' connections. */
    root,
    user: Bun.spawnSync(["id", "-un"]).stdout.toString().trim(),
    hostKey: read("host.pub"),
    rsaHostKey: read("host-rsa.pub"),
    privateKey: readFileSync(join(folder, "user"), "utf8"),
    guarded: { privateKey: readFileSync(join(folder, "guarded"), "utf8"), passphrase: "a passphrase" },
    strangerKey: readFileSync(join(folder, "stranger"), "utf8"),
    start,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type TestSshd = Awaited<ReturnType<typeof startSshd>>;
