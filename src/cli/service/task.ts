import { win32 } from "node:path";
import type { ServicePlan, ServiceRequest } from "./contract.ts";
import { escaped } from "./xml.ts";

const NAME = "Weir";
/** The account for services without rights beyond those of users. */
const LOCAL_SERVICE = "S-1-5-19";

/**
 * A task of the Windows Task Scheduler.
 * The service manager of Windows only accepts programs that implement its protocol.
 */
export function taskPlan({ scope, command, home, env }: ServiceRequest): ServicePlan {
  const isUser = scope === "user";
  const folder = isUser
    ? win32.join(env.LOCALAPPDATA || win32.join(home, "AppData", "Local"), "Weir")
    : win32.join(env.ProgramData || "C:\\ProgramData", "Weir");
  const file = win32.join(folder, "weir-task.xml");
  const [program = "", ...args] = command;
  const account =
    env.USERDOMAIN && env.USERNAME ? `${env.USERDOMAIN}\\${env.USERNAME}` : (env.USERNAME ?? "");
  const trigger = isUser ? "LogonTrigger" : "BootTrigger";
  const text = `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
    <${trigger}>
      <Enabled>true</Enabled>${isUser ? `\n      <UserId>${escaped(account)}</UserId>` : ""}
    </${trigger}>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${escaped(isUser ? account : LOCAL_SERVICE)}</UserId>${isUser ? "\n      <LogonType>InteractiveToken</LogonType>" : ""}
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escaped(`"${program}"`)}</Command>
      <Arguments>${escaped(args.map(quoted).join(" "))}</Arguments>
    </Exec>
  </Actions>
</Task>
`;
  return {
    noun: "scheduled task",
    file,
    text,
    encoding: "utf16le",
    start: [
      ["schtasks", "/Create", "/TN", NAME, "/XML", file, "/F"],
      ["schtasks", "/Run", "/TN", NAME],
    ],
    stop: [
      ["schtasks", "/End", "/TN", NAME],
      ["schtasks", "/Delete", "/TN", NAME, "/F"],
    ],
    after: [],
    check: ["schtasks", "/Query", "/TN", NAME],
    note: null,
  };
}

/** Quoted as Windows programs parse their command line: backslashes count only before a quotation mark. */
const quoted = (word: string): string =>
  /^[\w.:\\/=-]+$/.test(word) ? word : `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
