/** Results of a round of requests. */
export interface Round {
  count: number;
  perSecond: number;
  p50: number;
  p99: number;
  /** By status code. */
  statuses: Record<string, number>;
}

const HEAD_END = Buffer.from("\r\n\r\n");

/** A request as sent on the wire. */
export function rawRequest(
  origin: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = "",
): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(origin).host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === "" && method === "GET" ? [] : [`content-length: ${Buffer.byteLength(body)}`]),
  ];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

/**
 * Sends the same request repeatedly on `connections` keep-alive sockets for `seconds`, one at a time on each.
 * Uses bare sockets, so that the sender costs as little as possible.
 * `isRight` gets a response's body; it throws at the first response that isn't a success or isn't right.
 */
export async function load(
  origin: string,
  request: Buffer,
  connections: number,
  seconds: number,
  isRight?: (body: string) => boolean,
): Promise<Round> {
  const { hostname, port } = new URL(origin);
  const times: number[] = [];
  const statuses: Record<string, number> = {};
  const until = performance.now() + seconds * 1000;

  const run = () =>
    new Promise<void>((resolve, reject) => {
      let gathered: Buffer = Buffer.alloc(0);
      let sentAt = 0;
      Bun.connect({
        hostname,
        port: Number(port),
        socket: {
          open(socket) {
            sentAt = performance.now();
            socket.write(request);
          },
          data(socket, bytes) {
            gathered = gathered.length === 0 ? bytes : Buffer.concat([gathered, bytes]);
            const end = lengthOf(gathered);
            if (end === null || gathered.length < end) return;
            const status = gathered.toString("latin1", 9, 12);
            statuses[status] = (statuses[status] ?? 0) + 1;
            if (isRight && !(status.startsWith("2") && isRight(bodyOf(gathered)))) {
              socket.end();
              return reject(new Error(`Not the right reply: ${gathered.toString("utf8", 0, 600)}`));
            }
            gathered = Buffer.alloc(0);
            const now = performance.now();
            times.push(now - sentAt);
            if (now >= until) {
              socket.end();
              return resolve();
            }
            sentAt = now;
            socket.write(request);
          },
          error: (_, error) => reject(error),
          close: () => resolve(),
        },
      }).catch(reject);
    });

  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, run));
  const elapsed = (performance.now() - began) / 1000;
  const [p50, p99] = [shareOf(times, 0.5), shareOf(times, 0.99)];
  return { count: times.length, perSecond: times.length / elapsed, p50, p99, statuses };
}

const bodyOf = (reply: Buffer) => reply.toString("utf8", reply.indexOf(HEAD_END) + HEAD_END.length);

/** Where the first response ends. Null while its head is incomplete. */
function lengthOf(bytes: Buffer): number | null {
  const head = bytes.indexOf(HEAD_END);
  if (head < 0) return null;
  const length = /content-length: (\d+)/i.exec(bytes.toString("latin1", 0, head))?.[1];
  return head + 4 + Number(length ?? 0);
}

/** Returns a percentile of the values: 0.99 is the p99. */
export function shareOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => shareOf(values, 0.5);

/** Prints one line of the table: what was measured, and the figure against its floor and target. */
export function tell(
  what: string,
  value: number,
  floor: number,
  target: number,
  unit = "×",
  isCeiling = false,
): void {
  const meets = (limit: number) => (isCeiling ? value <= limit : value >= limit);
  const verdict = meets(target)
    ? "target reached"
    : meets(floor)
      ? "between floor and target"
      : "BELOW THE FLOOR";
  console.log(
    `${what.padEnd(58)} ${value.toFixed(2).padStart(8)} ${unit}   floor ${floor}, target ${target}: ${verdict}`,
  );
}
