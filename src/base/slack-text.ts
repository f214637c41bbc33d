import { MASK } from "./mask.ts";

/** Slack URL without the secret part. */
export const maskedSlackUrl = (address: string): string => address.replace(/[^/]+$/, MASK);

/** Escapes text for Slack. */
export const slackText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
