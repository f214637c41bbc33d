// Copied next to BullMQ and run on Node: `node server.mjs PORT REDIS_PORT`. POST /jobs queues one job;
// POST /enqueue?count=&callers= queues many internally; POST /drain?concurrency=&count= processes them.
import { createServer } from "node:http";
import { Queue, Worker } from "bullmq";

const [port, redisPort] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port: redisPort };
const queue = new Queue("bench", { connection });
await queue.waitUntilReady();

/** The same data as in a run of Weir. */
const data = { kind: "conditional_branch", definition: { branches: [{ key: "a", when: "true" }] } };
const options = { removeOnComplete: true };

async function enqueue(count, callers) {
  let left = count;
  const call = async () => {
    while (left-- > 0) await queue.add("run", data, options);
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: callers }, call));
  return (count * 1000) / (performance.now() - began);
}

async function drain(count, concurrency) {
  let done = 0;
  const { promise, resolve, reject } = Promise.withResolvers();
  const worker = new Worker("bench", async () => ({ branch: "a" }), {
    connection,
    concurrency,
    autorun: false,
  });
  worker.on("completed", (_, result) => {
    if (result.branch !== "a") reject(new Error("A job came to something else."));
    if (++done === count) resolve();
  });
  worker.on("failed", (_, error) => reject(error));
  worker.on("error", reject);
  await worker.waitUntilReady();
  const began = performance.now();
  worker.run().catch(reject);
  await promise;
  const perSecond = (count * 1000) / (performance.now() - began);
  await worker.close();
  const counts = await queue.getJobCounts();
  const open = Object.values(counts).reduce((sum, one) => sum + one, 0);
  if (open > 0) throw new Error(`Jobs are left: ${JSON.stringify(counts)}`);
  return perSecond;
}

async function answer(request) {
  const url = new URL(request.url, "http://localhost");
  const number = (name) => Number(url.searchParams.get(name));
  if (url.pathname === "/enqueue") return { perSecond: await enqueue(number("count"), number("callers")) };
  if (url.pathname === "/drain") return { perSecond: await drain(number("count"), number("concurrency")) };
  let text = "";
  for await (const chunk of request) text += chunk;
  const job = await queue.add("run", JSON.parse(text), options);
  return { id: job.id, status: "pending" };
}

const server = createServer((request, response) => {
  const reply = (status, body) => {
    const text = JSON.stringify(body);
    response.writeHead(status, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    });
    response.end(text);
  };
  answer(request).then(
    (body) => reply(201, body),
    (error) => reply(500, { error: String(error) }),
  );
});
server.listen(port, "127.0.0.1");
