import { join } from "node:path";
import type { ServicePlan, ServiceRequest } from "./contract.ts";
import { escaped } from "./xml.ts";

const LABEL = "weir";

export function launchdPlan({ scope, command, uid, home }: ServiceRequest): ServicePlan {
  const isUser = scope === "user";
  const domain = isUser ? `gui/${process.getuid?.() ?? 0}` : "system";
  const file = join(isUser ? join(home, "Library/LaunchAgents") : "/Library/LaunchDaemons", `${LABEL}.plist`);
  const log = isUser ? join(home, "Library/Logs/weir.log") : "/Library/Logs/weir.log";
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${command.map((word) => `    <string>${escaped(word)}</string>`).join("\n")}
  </array>
${isUser || uid === null ? "" : `  <key>UserName</key>\n  <string>#${uid}</string>\n`}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>120</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>${escaped(log)}</string>
</dict>
</plist>
`;
  return {
    noun: isUser ? "launchd agent" : "launchd daemon",
    file,
    text,
    encoding: "utf8",
    start: [["launchctl", "bootstrap", domain, file]],
    stop: [["launchctl", "bootout", `${domain}/${LABEL}`]],
    after: [],
    check: ["launchctl", "print", `${domain}/${LABEL}`],
    note: `The log is in ${log}.`,
  };
}
