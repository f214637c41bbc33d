import { AppError } from "../base/errors.ts";
import { type AuthHint, MAX_WARNINGS, type ReadApi } from "./contract.ts";
import { LETTERS, SWITCHES, UNREAD, VALUED } from "./curl-options.ts";
import { type RecordedRequest, readRecorded } from "./recorded.ts";

const MAX_COMMANDS = 500;

/** The endpoints called by the `curl` commands in a text. Throws `bad_request` if there are none. */
export function readCurl(text: string, baseUrl: string | null): ReadApi {
  const commands = commandsIn(text).slice(0, MAX_COMMANDS);
  const warnings = new Set<string>();
  const warn = (warning: string) => void warnings.add(warning);
  const requests = commands.flatMap((words) => requestOf(words, warn) ?? []);
  if (requests.length === 0)
    throw new AppError("bad_request", "The text contains no curl command with a URL.");
  const read = readRecorded(requests, "curl", { baseUrl, title: null });
  return { ...read, warnings: [...warnings, ...read.warnings].slice(0, MAX_WARNINGS) };
}

/** The words of each `curl` command, split as a shell would. */
function commandsIn(text: string): string[][] {
  const commands: string[][] = [];
  for (const start of text.matchAll(/(?:^|[\n;&|(`])[ \t]*(?:[$>#%][ \t]+)?curl(?=\s)/g)) {
    const words = wordsOf(text.slice(start.index + start[0].length));
    for (const own of partsOf(words)) commands.push(own);
    if (commands.length >= MAX_COMMANDS) break;
  }
  return commands;
}

/** The words before and after each `--next`: every part is a request of its own. */
function partsOf(words: readonly string[]): string[][] {
  const parts: string[][] = [[]];
  for (const word of words) {
    if (word === "--next" || word === "-:") parts.push([]);
    else parts.at(-1)?.push(word);
  }
  return parts.filter(({ length }) => length > 0);
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
  /** Words that aren't options: URLs, unless an unknown option has one as its value. */
  words: string[];
  headers: [string, string][];
  /** The body, or with `-G` the query. */
  data: string[];
  query: string[];
  fields: [string, string][];
  /** The file with the body. */
  file: string | null;
  isUpload: boolean;
  isGet: boolean;
  isJson: boolean;
  hints: AuthHint[];
}

function requestOf(words: readonly string[], warn: (text: string) => void): RecordedRequest | null {
  const command: Command = {
    method: null,
    words: [],
    headers: [],
    data: [],
    query: [],
    fields: [],
    file: null,
    isUpload: false,
    isGet: false,
    isJson: false,
    hints: [],
  };
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string;
    if (!word.startsWith("-") || word === "-") {
      command.words.push(word);
      continue;
    }
    for (const [option, own] of optionsIn(word)) {
      const name = option.replace(/^expand-/, "");
      if (UNREAD.has(name))
        warn(`curl's option --${name} isn't read. What it does to the request is left out.`);
      if (VALUED.has(name)) take(command, name, own ?? words[++i] ?? "");
      else if (name === "get") command.isGet = true;
      else if (name === "head") command.method ??= "HEAD";
      else if (!SWITCHES.has(name) && !SWITCHES.has(name.replace(/^no-/, "")))
        warn(`curl's option ${word.slice(0, 100)} isn't known. It is left out.`);
    }
  }
  const urls = command.words.filter((word) => word.includes("://"));
  if (urls.length > 1) warn(`Of several URLs in one curl command, only the first is read: ${urls[0]}`);
  const address = urls[0] ?? command.words[0];
  return address === undefined ? null : built(command, address, warn);
}

/** The options in a word, the last one perhaps with its value: `--data=x`, or `-sXPOST` for -s and -X POST. */
function optionsIn(word: string): [option: string, value?: string][] {
  const [, long, own] = /^--([^=]*)(?:=([\s\S]*))?$/.exec(word) ?? [];
  if (long !== undefined) return [own === undefined ? [long] : [long, own]];
  const options: [string, string?][] = [];
  for (let at = 1; at < word.length; at++) {
    const letter = word.charAt(at);
    const option = LETTERS[letter] ?? letter;
    const rest = word.slice(at + 1);
    if (VALUED.has(option)) return [...options, rest === "" ? [option] : [option, rest]];
    options.push([option]);
  }
  return options;
}

/** Adds what an option says about the request. Others don't matter for an endpoint. */
function take(command: Command, option: string, value: string): void {
  const authorization = { name: "Authorization", location: "header" } as const;
  switch (option) {
    case "request":
      command.method = value.toUpperCase();
      return;
    case "url":
      return void command.words.push(value);
    case "header": {
      const colon = value.indexOf(":");
      if (colon > 0) command.headers.push([value.slice(0, colon).trim(), value.slice(colon + 1).trim()]);
      return;
    }
    case "json":
    case "data":
    case "data-ascii":
    case "data-binary":
      command.isJson ||= option === "json";
      if (value.startsWith("@")) command.file = value.slice(1);
      else command.data.push(value);
      return;
    case "data-raw":
      return void command.data.push(value);
    case "data-urlencode":
      return void command.data.push(urlEncoded(value));
    case "url-query":
      return void command.query.push(value.startsWith("+") ? value.slice(1) : urlEncoded(value));
    case "form":
    case "form-string": {
      const [name = "", ...rest] = value.split("=");
      const text = rest.join("=");
      const isFile = text.startsWith("@");
      command.fields.push([name, isFile && option === "form-string" ? "" : text]);
      return;
    }
    case "upload-file":
      command.file = value;
      command.isUpload = true;
      return;
    case "user":
      return void command.hints.push({ ...authorization, label: "Basic", type: "basic" });
    case "oauth2-bearer":
      return void command.hints.push({ ...authorization, label: "Bearer token", type: "bearer" });
  }
}

/** `name=content` with the content encoded; `name@file` has its content in a file. */
function urlEncoded(text: string): string {
  const [, name = "", sign, content = ""] = /^([^=@]*)([=@])([\s\S]*)$/.exec(text) ?? ["", "", "=", text];
  const value = sign === "@" ? "" : encodeURIComponent(content.toWellFormed());
  return name === "" ? value : `${name}=${value}`;
}

function built(command: Command, address: string, warn: (text: string) => void): RecordedRequest {
  const { file, isUpload, isGet, isJson, fields, headers } = command;
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `https://${address}`;
  const named = isUpload && full.endsWith("/") ? full + (file ?? "").split("/").at(-1) : full;
  const url = placeholders(named);
  const data = command.data.join(isJson ? "" : "&");
  const type = headers.find(([name]) => /^content-type$/i.test(name))?.[1];
  const hasBody = (data !== "" || file !== null) && !isGet;
  const query = [...command.query, ...(isGet && data !== "" ? [data] : [])].join("&");
  const method = command.method ?? (isUpload ? "PUT" : hasBody || fields.length > 0 ? "POST" : "GET");
  const ofFile = type ?? (isJson ? "application/json" : isUpload ? "text/plain" : FORM);
  if (file !== null && !isGet)
    warn(`The body of ${method} ${url} is in the file ${file}. It is an argument.`);
  return {
    name: null,
    description: null,
    method,
    url: url + (query === "" ? "" : `${url.includes("?") ? "&" : "?"}${query}`),
    headers,
    body: !hasBody
      ? formOf(fields)
      : file !== null
        ? { type: ofFile, isFile: true }
        : bodyOf(data, type ?? (isJson ? "application/json" : "")),
    hints: command.hints,
  };
}

const FORM = "application/x-www-form-urlencoded";

const formOf = (fields: Command["fields"]): RecordedRequest["body"] =>
  fields.length === 0 ? null : { type: "multipart/form-data", fields };

/** Without a content type curl sends a form, but a JSON text was meant as JSON. */
function bodyOf(text: string, type: string): RecordedRequest["body"] {
  const isJson = /^\s*[[{]/.test(text);
  if (/x-www-form-urlencoded/i.test(type) || (type === "" && !isJson && text.includes("="))) {
    return { type: FORM, fields: [...new URLSearchParams(text)] };
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
