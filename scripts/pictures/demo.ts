import { join } from "node:path";

const MAIN = join(import.meta.dir, "../../src/main.ts");

interface Serving {
  origin: string;
  email: string;
  password: string;
  token: string;
  automationId: string;
  automationRunId: string;
  correlationId: string;
  artifactId: string;
}

/** The demo's own line once it serves. */
async function served(lines: ReadableStream<Uint8Array>): Promise<Serving> {
  let text = "";
  for await (const chunk of lines) {
    text += Buffer.from(chunk).toString("utf8");
    for (const line of text.split("\n").slice(0, -1)) {
      const told = JSON.parse(line) as { step?: string } & Serving;
      if (told.password) return told;
    }
  }
  throw new Error(`The demo ended before it served: ${text}`);
}

/** Starts the demo in a separate process. `ids` are the values of uppercase words in paths; `await using` ends it. */
export async function startDemo(
  env: Readonly<Record<string, string | undefined>>,
  args: readonly string[] = [],
) {
  const demo = Bun.spawn([process.execPath, MAIN, "demo", "--json", ...args], {
    stdout: "pipe",
    stderr: "inherit",
    env,
  });
  const end = async () => {
    demo.kill();
    await demo.exited;
  };
  try {
    const serving = await served(demo.stdout);
    const ids: Record<string, string> = {
      AUTOMATION: serving.automationId,
      RUN: serving.automationRunId,
      CHAIN: serving.correlationId,
      ARTIFACT: serving.artifactId,
    };
    return { ...serving, ids, pid: demo.pid, [Symbol.asyncDispose]: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Replaces uppercase words in a path with IDs. */
export const named = (path: string, ids: Readonly<Record<string, string>>) =>
  path.replace(/\b[A-Z]+\b/, (word) => ids[word] ?? word);
