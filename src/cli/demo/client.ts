import { createHmac } from "node:crypto";
import { type Clock, timestamp } from "../../base/clock.ts";
import { type Answer, openClient } from "../client.ts";

/** A delivery of an external sender, and its signature. */
export interface Delivery {
  url: string;
  secret: string;
  body: string;
  /** Seconds since 1970 by the sender's clock. */
  sentAt: number;
}

/** A client that acts as a user with an access token, and as the shop with webhooks. */
export function openDemoClient(origin: string, token: string) {
  const client = openClient(origin, { token });
  return {
    ...client,
    /** Sends a webhook without a token, signed over the time and the body. */
    async deliver({ url, secret, body, sentAt }: Delivery): Promise<Answer & { signature: string }> {
      const signature = `sha256=${createHmac("sha256", secret).update(`${sentAt}.${body}`).digest("hex")}`;
      const headers = {
        "content-type": "application/json",
        "x-svc-timestamp": String(sentAt),
        "x-svc-signature": signature,
      };
      return { ...(await client.ask("POST", url, { headers, body })), signature };
    },
  };
}

export type Client = ReturnType<typeof openDemoClient>;

/** Seconds since 1970. */
export const unixSeconds = (clock: Clock): number => Math.floor(Date.parse(timestamp(clock)) / 1000);
