import type { Static } from "@sinclair/typebox";
import type { Clock } from "../../base/clock.ts";
import { systemIds } from "../../base/ids.ts";
import { isObject, type JsonObject } from "../../base/json.ts";
import type { Automation, AutomationPage } from "../../resources/automations/wire.ts";
import type { Install } from "../../resources/bundles/wire.ts";
import type { Connection, FileItem, FilePage } from "../../resources/connections/wire.ts";
import type { Client } from "./client.ts";
import type { Receiver } from "./receiver.ts";
import { batchOf, newsOf, ordersFile, ordersName } from "./sample.ts";
import { counted, expect, type Scene, type Stage } from "./stage.ts";

export interface Show {
  stage: Stage;
  client: Client;
  receiver: Receiver;
  clock: Clock;
  /** The configured language model. Null for none. */
  model: string | null;
  /** Where the server listens, for links. */
  origin: string;
}

/** Revenue from which the latest day is busy. */
export const BUSY_FROM = 2000;
const WEBHOOK_PATH = "shop/exported";

export interface Workspace {
  connectionId: string;
  automationId: string;
  /** Number of the newest order file. */
  batch: number;
  /** True if an earlier demo created it. */
  isKnown: boolean;
}

export interface Webhook {
  automationId: string;
  url: string;
  secret: string;
}

/** The bundle, installed by an earlier demo or now, with the sample files in its connection. */
export async function openBundle({ client, receiver }: Show, scene: Scene): Promise<Workspace> {
  const { automations } = await client.get<Static<typeof AutomationPage>>(
    "/api/v1/automations?q=shop-exported",
  );
  const earlier = automations.find(({ slug }) => slug === "shop-exported");
  const made = earlier ? madeBy(earlier) : await installBundle(client, receiver);
  const { connectionId: id } = made;
  const { items: files } = await client.get<Static<typeof FilePage>>(
    `/api/v1/connections/${id}/files?path=/`,
  );
  const batches = files.map(({ name }) => batchOf(name)).filter((number) => number !== null);
  const verified = await client.post<Static<typeof Connection>>(`/api/v1/connections/${id}/verify`);
  expect(verified.status === "active", `The connection is ${verified.status}: ${verified.verificationError}`);
  const batch = Math.max(1, ...batches);
  scene.tell(
    "bundle",
    earlier ? `${BUNDLE}, already installed` : `${BUNDLE}, version ${made.version}, installed`,
  );
  scene.tell(
    "connection",
    `Shop files, provider local_files, ${verified.status}${earlier ? ", already created" : ""}`,
  );
  const names = files.map(({ name, size }) => `${name} (${sizeOf(size)})`);
  scene.tell("files", names.length > 4 ? `${names.length}, latest ${ordersName(batch)}` : names.join(", "));
  scene.facts({
    bundle: BUNDLE,
    connectionId: id,
    status: verified.status,
    isKnown: earlier !== undefined,
    files: files.map(({ name }) => name),
  });
  return {
    connectionId: id,
    automationId: made.automationId,
    batch,
    isKnown: earlier?.latestRun != null,
  };
}

const BUNDLE = "quick-start";

interface Made {
  connectionId: string;
  automationId: string;
  version: number | null;
}

async function installBundle(client: Client, receiver: Receiver): Promise<Made> {
  const inputs = { notifyUrl: receiver.origin, busyFrom: BUSY_FROM, path: WEBHOOK_PATH };
  const { components, bundleVersion } = await client.post<Static<typeof Install>>(
    `/api/v1/bundles/${BUNDLE}/install`,
    { inputs },
  );
  const idOf = (type: string) => components.find((component) => component.type === type)?.entityId ?? "";
  return { connectionId: idOf("connection"), automationId: idOf("automation"), version: bundleVersion };
}

/** What an earlier installation created. The automation's first step names the connection. */
function madeBy({ id, config }: Static<typeof Automation>): Made {
  const [first] = stepsIn(config);
  expect(typeof first?.connectionId === "string", "The automation Shop exported wasn't created by the demo.");
  return { automationId: id, connectionId: first.connectionId, version: null };
}

const stepsIn = ({ steps }: JsonObject): JsonObject[] => (Array.isArray(steps) ? steps.filter(isObject) : []);

const upload = (client: Client, connectionId: string, { name, text }: { name: string; text: string }) =>
  client.put<Static<typeof FileItem>>(`/api/v1/connections/${connectionId}/files?path=/${name}`, text);

const sizeOf = (bytes: number | null): string =>
  bytes === null
    ? "?"
    : bytes < 10_000
      ? `${(bytes / 1000).toFixed(1)} kB`
      : `${Math.round(bytes / 1000)} kB`;

/** Updates the automation with a new secret and the receiver's current address. */
export async function openWebhook(
  { client, receiver }: Show,
  scene: Scene,
  { automationId, isKnown }: Workspace,
): Promise<Webhook> {
  const secret = `whsec_${Buffer.from(systemIds.bytes(32)).toString("base64")}`;
  const at = `/api/v1/automations/${automationId}`;
  const installed = await client.get<Static<typeof Automation>>(at);
  const steps = stepsIn(installed.config).map((step) => sentTo(step, receiver.origin));
  const automation = await client.patch<Static<typeof Automation>>(at, { config: { secret, steps } });
  const url = automation.webhookUrl ?? "";
  expect(url !== "" && automation.status === "active", "The automation isn't ready for webhooks.");
  scene.tell("webhook", url);
  scene.tell("steps", "extract → transform → board, and check → route ─ big ──→ approve → alert");
  scene.tell("", "                                                     └ quiet → report");
  scene.facts({ automationId, webhookUrl: url, isKnown });
  return { automationId, url, secret };
}

/** The step, with its request sent to the current receiver. */
function sentTo(step: JsonObject, receiver: string): JsonObject {
  const { definition } = step;
  if (step.kind !== "http_request" || !isObject(definition)) return step;
  const { pathname } = new URL(String(definition.url));
  return { ...step, definition: { ...definition, url: `${receiver}${pathname}` } };
}

/** Adds a day of the shop: one more file. */
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
    `${file.name} (${sizeOf(size)}): ${counted(inserted, "new order")}, ${updated} updated orders (returns)`,
  );
  scene.facts({ file: file.name, inserted, updated });
}
