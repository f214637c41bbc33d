import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../base/clock.ts";
import { systemIds } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Automation, AutomationPage } from "../../resources/automations/wire.ts";
import type { Connection, ConnectionPage, FileItem, FilePage } from "../../resources/connections/wire.ts";
import { automationSteps, WEBHOOK_PATH } from "./automation.ts";
import type { Client } from "./client.ts";
import type { Receiver } from "./receiver.ts";
import { batchOf, customersFile, newsOf, ordersFile, ordersName, productsFile } from "./sample.ts";
import { counted, expect, type Scene, type Stage } from "./stage.ts";

export interface Show {
  stage: Stage;
  client: Client;
  receiver: Receiver;
  clock: Clock;
}

export interface Workspace {
  connectionId: string;
  /** The newest file of orders that is there. */
  batch: number;
  /** True where an earlier demo made it. */
  isKnown: boolean;
}

export interface Hook {
  automationId: string;
  url: string;
  secret: string;
}

/** The connection and its files, as an earlier demo left them or new. */
export async function openFiles({ client }: Show, scene: Scene): Promise<Workspace> {
  const { connections } = await client.get<Static<typeof ConnectionPage>>("/api/v1/connections?q=shop-files");
  const earlier = connections.find(({ slug }) => slug === "shop-files");
  const id = earlier?.id ?? (await createConnection(client));
  const { items } = await client.get<Static<typeof FilePage>>(`/api/v1/connections/${id}/files?path=/`);
  const batches = items.map(({ name }) => batchOf(name)).filter((number) => number !== null);
  const wanted = batches.length === 0 ? [ordersFile(1), customersFile, productsFile] : [];
  const uploaded = [];
  for (const file of wanted) uploaded.push(await upload(client, id, file));
  const verified = await client.post<Static<typeof Connection>>(`/api/v1/connections/${id}/verify`);
  expect(verified.status === "active", `The connection is ${verified.status}: ${verified.verificationError}`);
  const batch = Math.max(1, ...batches);
  const files = [...items, ...uploaded];
  scene.tell(
    "connection",
    `Shop files, provider local_files, ${verified.status}${earlier ? ", from last time" : ""}`,
  );
  const names = files.map(({ name, size }) => `${name} (${sizeOf(size)})`);
  scene.tell(
    uploaded.length > 0 ? "uploaded" : "files",
    names.length > 4 ? `${names.length}, the newest one ${ordersName(batch)}` : names.join(", "),
  );
  scene.facts({
    connectionId: id,
    status: verified.status,
    isKnown: earlier !== undefined,
    files: files.map(({ name }) => name),
  });
  return { connectionId: id, batch, isKnown: batches.length > 0 };
}

async function createConnection(client: Client): Promise<string> {
  const body = { name: "Shop files", provider: "local_files", config: { root: "shop" }, credentials: {} };
  return (await client.post<Static<typeof Connection>>("/api/v1/connections", body)).id;
}

const upload = (client: Client, connectionId: string, { name, text }: { name: string; text: string }) =>
  client.put<Static<typeof FileItem>>(`/api/v1/connections/${connectionId}/files?path=/${name}`, text);

const sizeOf = (bytes: number | null): string =>
  bytes === null
    ? "?"
    : bytes < 10_000
      ? `${(bytes / 1000).toFixed(1)} kB`
      : `${Math.round(bytes / 1000)} kB`;

/** The automation, with a secret and a receiver's address that are of this day. */
export async function openHook(
  { client, receiver }: Show,
  scene: Scene,
  { connectionId }: Workspace,
): Promise<Hook> {
  const secret = `whsec_${Buffer.from(systemIds.bytes(32)).toString("base64")}`;
  const config: JsonObject = {
    path: WEBHOOK_PATH,
    secret,
    waitSeconds: 30,
    steps: automationSteps(connectionId, receiver.origin),
  };
  const { automations } = await client.get<Static<typeof AutomationPage>>(
    "/api/v1/automations?q=shop-exported",
  );
  const earlier = automations.find(({ slug }) => slug === "shop-exported");
  const automation = earlier
    ? await client.patch<Static<typeof Automation>>(`/api/v1/automations/${earlier.id}`, { config })
    : await client.post<Static<typeof Automation>>("/api/v1/automations", {
        name: "Shop exported",
        triggerType: "webhook",
        config,
      });
  const url = automation.webhookUrl ?? "";
  expect(url !== "" && automation.status === "active", "The automation is not ready for webhooks.");
  scene.tell("webhook", url);
  scene.tell("steps", "extract → transform → check → route ─ big ──→ alert   (POST to the receiver)");
  scene.tell("", "                                         └ quiet → report  (POST to the receiver)");
  scene.facts({ automationId: automation.id, webhookUrl: url, isKnown: earlier !== undefined });
  return { automationId: automation.id, url, secret };
}

/** A day of the shop: one more file beside the others. */
export async function addOrders(
  { client }: Show,
  scene: Scene,
  connectionId: string,
  batch: number,
): Promise<void> {
  const file = ordersFile(batch);
  const { size } = await upload(client, connectionId, file);
  const { inserted, updated } = newsOf(batch);
  scene.tell(
    "uploaded",
    `${file.name} (${sizeOf(size)}): ${counted(inserted, "new order")}, ${updated} older ones that were given back`,
  );
  scene.facts({ file: file.name, inserted, updated });
}
