import { MASK, maskSecrets } from "../../base/mask.ts";

/** A part of a path that identifies its caller, such as the last one of a Slack or Zapier URL. */
const TOKEN = /^(?=.*[\dA-Z])[\w.~=%-]{8,}$/;

/** The URL of a receiver for events, which every member and viewer reads: without secrets in its query or path. */
export function shownUrl(url: string): string {
  const [, origin = "", path = "", rest = ""] = /^(https?:\/\/[^/?#]*)([^?#]*)(.*)$/is.exec(url) ?? ["", url];
  const parts = path.split("/").map((part) => (TOKEN.test(part) ? MASK : part));
  return maskSecrets(`${origin}${parts.join("/")}${rest}`) as string;
}
