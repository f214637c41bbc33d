import { isAbsolute, join } from "node:path";
import type { ServicePlan, ServiceRequest } from "./contract.ts";

const NAME = "weir.service";

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.service.html#Command%20lines */
const quoted = (word: string): string =>
  `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;

/** An argument. Unlike in the program's path, systemd expands variables in arguments. */
const argument = (word: string): string =>
  /^[\w./:=@-]+$/.test(word) ? word : quoted(word).replaceAll("$", "$$$$");

export function systemdPlan({ scope, command, uid, home, env }: ServiceRequest): ServicePlan {
  const isUser = scope === "user";
  const systemctl = ["systemctl", ...(isUser ? ["--user"] : [])];
  const [program = "", ...args] = command;
  const text = `[Unit]
Description=Weir automation and data integration server
${isUser ? "" : "Wants=network-online.target\nAfter=network-online.target\n"}
[Service]
Type=exec
ExecStart=${[quoted(program), ...args.map(argument)].join(" ")}
${isUser ? "" : ofMachine(uid)}Restart=on-failure
RestartSec=5
# Weir stops its own child processes once running work has finished (WEIR_SHUTDOWN_GRACE).
KillMode=mixed
TimeoutStopSec=120
LimitNOFILE=65536
UMask=0077

[Install]
WantedBy=${isUser ? "default.target" : "multi-user.target"}
`;
  return {
    noun: `systemd ${scope} unit`,
    file: join(isUser ? userFolder(home, env) : "/etc/systemd/system", NAME),
    text,
    encoding: "utf8",
    start: [
      [...systemctl, "daemon-reload"],
      [...systemctl, "enable", "--now", NAME],
    ],
    stop: [[...systemctl, "disable", "--now", NAME]],
    after: [[...systemctl, "daemon-reload"]],
    check: [...systemctl, "is-active", "--quiet", NAME],
    note: isUser ? "To start it before you sign in, run: loginctl enable-linger" : null,
  };
}

const ofMachine = (uid: number | null): string => `# settings, one NAME=value a line
EnvironmentFile=-/etc/weir.env
${uid === null ? "" : `User=${uid}\n`}NoNewPrivileges=yes
ProtectSystem=full
PrivateDevices=yes
`;

function userFolder(home: string, { XDG_CONFIG_HOME: named }: ServiceRequest["env"]): string {
  return join(named && isAbsolute(named) ? named : join(home, ".config"), "systemd", "user");
}
