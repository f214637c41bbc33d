import { AppError } from "../base/errors.ts";
import type { AuthHint, ReadApi } from "./contract.ts";
import { type RecordedRequest, readRecorded } from "./recorded.ts";

const MAX_COMMANDS = 500;

/** Options with a value that doesn't matter for an endpoint. */
const PASSED_OVER = new Set(
  "-o --output -m --max-time --connect-timeout -c --cookie-jar --retry --retry-delay -w --write-out --cacert --cert -E --key -x --proxy --resolve --limit-rate -T --upload-file --ciphers -K --config -r --range --interface --tls-max -Y -y -z -C --max-redirs --proto".split(
    " ",
  ),
);

/** The endpoints called by the `curl` commands in a text. Throws `bad_request` if there are none. */
export function readCurl(text: string, baseUrl: string | null): ReadApi {
  const commands = commandsIn(text).slice(0, MAX_COMMANDS);
  const requests = commands.flatMap((words) => requestOf(words) ?? []);
  if (requests.length === 0)
    throw new AppError("bad_request", "The text contains no curl command with a URL.");
  return readRecorded(requests, "curl", { baseUrl, title: null });
}

/** The words of each `curl` command, split as a shell would. */
function commandsIn(text: string): string[][] {
  const commands: string[][] = [];
  for (const start of text.matchAll(/(?:^|[\n;&|(`])[ \t]*(?:[$>#%][ \t]+)?curl(?=\s)/g)) {
    const words = wordsOf(text.slice(start.index + start[0].length));
    if (words.length > 0) commands.push(words);
    if (commands.length >= MAX_COMMANDS) break;
  }
  return commands;
}

const ENDS = new Set(["\n", ";", "|", "&", ")", "`"]);

/** The words up to the end of the command: both kinds of quotes, `$'…'`, and lines continued with a backslash. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let word = null as string | null;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i] as string;
    if (sign === "\\") {
      const next = text[++i] ?? "";
      if (next === "\r" && text[i + 1] === "\n") i++;
      else if (next !== "\n") word = (word ?? "") + next;
    } else if (sign === "'" || sign === '"') {
      const isC: boolean = sign === "'" && word?.endsWith("$") === true;
      const { value, end } = quoted(text, i, isC);
      word = (isC ? (word ?? "").slice(0, -1) : (word ?? "")) + value;
      i = end;
    } else if (/\s/.test(sign) || ENDS.has(sign)) {
      if (word !== null) words.push(word);
      word = null;
      if (ENDS.has(sign)) return words;
    } else word = (word ?? "") + sign;
  }
  if (word !== null) words.push(word);
  return words;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function quoted(text: string, at: number, isC: boolean): { value: string; end: number } {
  const quote = text[at];
  let value = "";
  let i = at + 1;
  for (; i < text.length && text[i] !== quote; i++) {
    const sign = text[i] as string;
    if (sign !== "\\" || (quote === "'" && !isC)) value += sign;
    else {
      const next = text[++i] ?? "";
      if (isC) value += ESCAPES[next] ?? next;
      else value += next === "\n" ? "" : /["\\$`]/.test(next) ? next : `\\${next}`;
    }
  }
  return { value, end: i };
}

interface Command {
  method: string | null;
  url: string | null;
  headers: [string, string][];
  data: string[];
  fields: [string, string][];
  isGet: boolean;
  isJson: boolean;
  hints: AuthHint[];
}

function requestOf(words: readonly string[]): RecordedRequest | null {
  const command: Command = {
    method: null,
    url: null,
    headers: [],
    data: [],
    fields: [],
    isGet: false,
    isJson: false,
    hints: [],
  };
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (!word.startsWith("-") || word === "-") {
      command.url ??= word;
      continue;
    }
    const long = /^(--[\w-]+)=([\s\S]*)$/.exec(word);
    const short = /^(-[XHduFbAeoT])([\s\S]+)$/.exec(word);
    const [option, own] = long ? [long[1], long[2]] : short ? [short[1], short[2]] : [word, undefined];
    const takes = TAKES[option as string];
    if (takes) takes(command, own ?? words[++i] ?? "");
    else if (PASSED_OVER.has(option as string) && own === undefined) i++;
    else if (option === "-G" || option === "--get") command.isGet = true;
    else if (option === "-I" || option === "--head") command.method ??= "HEAD";
  }
  return command.url === null ? null : built(command, command.url);
}

const TAKES: Readonly<Record<string, (command: Command, value: string) => void>> = Object.assign(
  Object.create(null),
  alias("-X --request", (command, value) => {
    command.method = value.toUpperCase();
  }),
  alias("--url", (command, value) => {
    command.url = value;
  }),
  alias("-H --header", (command, value) => {
    const colon = value.indexOf(":");
    if (colon > 0) command.headers.push([value.slice(0, colon).trim(), value.slice(colon + 1).trim()]);
  }),
  alias("-d --data --data-raw --data-binary --data-ascii --data-urlencode", (command, value) => {
    command.data.push(value);
  }),
  alias("--json", (command, value) => {
    command.isJson = true;
    command.data.push(value);
  }),
  alias("-F --form --form-string", (command, value) => {
    const [name = "", ...rest] = value.split("=");
    command.fields.push([name, rest.join("=")]);
  }),
  alias("-u --user", (command) => {
    command.hints.push({ label: "Basic", name: "Authorization", location: "header", type: "basic" });
  }),
  alias("--oauth2-bearer", (command) => {
    command.hints.push({ label: "Bearer token", name: "Authorization", location: "header", type: "bearer" });
  }),
  alias("-b --cookie -A --user-agent -e --referer", () => undefined),
);

function alias(names: string, take: (command: Command, value: string) => void) {
  return Object.fromEntries(names.split(" ").map((name) => [name, take]));
}

function built(command: Command, address: string): RecordedRequest {
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  const url = placeholders(full);
  const data = command.data.join("&");
  const type = command.headers.find(([name]) => /^content-type$/i.test(name))?.[1];
  const isBody = data !== "" && !command.isGet;
  const query = command.isGet && data !== "" ? `${url.includes("?") ? "&" : "?"}${data}` : "";
  return {
    name: null,
    description: null,
    method: command.method ?? (isBody || command.fields.length > 0 ? "POST" : "GET"),
    url: url + query,
    headers: command.headers,
    body: isBody ? bodyOf(data, type ?? (command.isJson ? "application/json" : "")) : formOf(command.fields),
    hints: command.hints,
  };
}

const formOf = (fields: Command["fields"]): RecordedRequest["body"] =>
  fields.length === 0 ? null : { type: "multipart/form-data", fields };

/** Without a content type curl sends a form, but a JSON text was meant as JSON. */
function bodyOf(text: string, type: string): RecordedRequest["body"] {
  const isJson = /^\s*[[{]/.test(text);
  if (/x-www-form-urlencoded/i.test(type) || (type === "" && !isJson && text.includes("="))) {
    return { type: "application/x-www-form-urlencoded", fields: [...new URLSearchParams(text)] };
  }
  return { type: type === "" ? (isJson ? "application/json" : "text/plain") : type, text };
}

/** Common placeholders in a path: `:id`, `<id>`, `$ID` and `${ID}`. */
export function placeholders(url: string): string {
  const [head = "", ...rest] = url.split("?");
  const start = /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i.exec(head)?.[0] ?? "";
  const path = head
    .slice(start.length)
    .replace(/\/:([A-Za-z_]\w*)/g, "/{$1}")
    .replace(/<([A-Za-z_][\w-]*)>/g, "{$1}")
    .replace(/\$\{([A-Za-z_]\w*)\}/g, "{$1}")
    .replace(/\$([A-Za-z_]\w*)/g, "{$1}")
    .replace(/\{\{([A-Za-z_][\w-]*)\}\}/g, "{$1}");
  return [start + path, ...rest].join("?");
}
