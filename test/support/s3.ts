import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { startFauxqs } from "fauxqs";

export const s3Keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "s3cret/key+with=signs" };

/** For a request that gets no response: its sender waits until it gives up or is killed. */
export const HELD = new Promise<null>(() => undefined);

/** The gate's response instead of the store's: an S3 error, or null to let the request pass; a promise is awaited. */
export type Interference = (seen: {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
}) => Refusal | null | Promise<null>;

interface Refusal {
  status: number;
  code?: string;
  body?: string;
  headers?: Record<string, string>;
}

/**
 * An S3 server on a free port, with a gate in front that checks each signature and each body's hash as Amazon describes
 * it, computed independently here, and can interfere on request. `await using` stops both.
 */
export async function startS3(options: { region?: string } = {}) {
  const region = options.region ?? "us-east-1";
  const store = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
  const seen: { method: string; url: string; headers: IncomingHttpHeaders }[] = [];
  let interfere: Interference = () => null;

  const gate = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
    } catch {
      return; // The caller disconnected in the middle of its request.
    }
    const body = Buffer.concat(chunks);
    const method = incoming.method ?? "GET";
    const url = incoming.url ?? "/";
    seen.push({ method, url, headers: incoming.headers });
    const fault =
      (await interfere({ method, url, headers: incoming.headers })) ?? checkSignature(incoming, body, region);
    if (fault) {
      const text = fault.body ?? (fault.code ? errorXml(fault.code, region) : "");
      outgoing.writeHead(fault.status, { "content-type": "application/xml", ...fault.headers });
      outgoing.end(method === "HEAD" ? undefined : text);
      return;
    }
    const onward = request(
      {
        host: "127.0.0.1",
        port: store.port,
        method,
        path: url,
        headers: { ...incoming.headers, "content-length": body.length },
      },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(outgoing);
      },
    );
    onward.on("error", () => outgoing.destroy());
    onward.end(body);
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  const address = gate.address();
  const port = typeof address === "object" && address ? address.port : 0;

  return {
    endpointUrl: `http://127.0.0.1:${port}`,
    createBucket: (name: string) => void store.createBucket(name),
    /** Puts an object, bypassing the gate. */
    async put(bucket: string, key: string, text: string) {
      const url = `http://127.0.0.1:${store.port}/${bucket}/${key}`;
      await (await fetch(url, { method: "PUT", body: text })).arrayBuffer();
    },
    /** Puts an object, bypassing the gate, with a key that a URL might not be able to name. */
    async putRaw(
      bucket: string,
      key: string,
      bytes: string | Uint8Array,
      headers: Record<string, string> = {},
    ) {
      const path = `/${bucket}/${key.split("/").map(encodeURIComponent).join("/")}`;
      await new Promise<void>((resolve, reject) => {
        const sent = request(
          { host: "127.0.0.1", port: store.port, method: "PUT", path, headers },
          (reply) => {
            reply.resume();
            if (reply.statusCode === 200) resolve();
            else reject(new Error(`${reply.statusCode} for ${JSON.stringify(key)}`));
          },
        );
        sent.on("error", reject);
        sent.end(bytes);
      });
    },
    /** Deletes an object, bypassing the gate. */
    async remove(bucket: string, key: string) {
      await fetch(`http://127.0.0.1:${store.port}/${bucket}/${key}`, { method: "DELETE" });
    },
    /** The headers and bytes of an object, bypassing the gate. */
    async get(bucket: string, key: string) {
      const path = key.split("/").map(encodeURIComponent).join("/");
      const options = { decompress: false } as RequestInit;
      const reply = await fetch(`http://127.0.0.1:${store.port}/${bucket}/${path}`, options);
      return { headers: reply.headers, bytes: await reply.bytes() };
    },
    /** Keys and contents of a bucket, bypassing the gate. */
    async all(bucket: string): Promise<Record<string, string>> {
      const address = `http://127.0.0.1:${store.port}/${bucket}`;
      const list = await (await fetch(`${address}?list-type=2&encoding-type=url`)).text();
      const keys = [...list.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => decodeURIComponent(key));
      const texts = keys.map(async (key) => {
        const path = key.split("/").map(encodeURIComponent).join("/");
        return [key, await (await fetch(`${address}/${path}`)).text()] as const;
      });
      return Object.fromEntries(await Promise.all(texts));
    },
    /** Every request, including rejected ones. */
    seen,
    /** Responds instead of the store from now on. */
    interfere(how: Interference) {
      interfere = how;
    },
    async [Symbol.asyncDispose]() {
      gate.closeAllConnections();
      gate.close();
      await store.stop();
    },
  };
}

export type TestS3 = Awaited<ReturnType<typeof startS3>>;

const errorXml = (code: string, region: string) =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>Refused &amp; logged</Message>` +
  `${code === "AuthorizationHeaderMalformed" ? `<Region>${region}</Region>` : ""}<RequestId>1</RequestId></Error>`;

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

/** Checks signature version 4, from the request as sent. */
function checkSignature(incoming: IncomingMessage, body: Buffer, region: string): Refusal | null {
  const match = AUTHORIZATION.exec(incoming.headers.authorization ?? "");
  if (!match) return { status: 403, code: "AccessDenied" };
  const [, keyId = "", day = "", theirRegion = "", signed = "", signature] = match;
  if (keyId !== s3Keys.accessKeyId) return { status: 403, code: "InvalidAccessKeyId" };
  if (theirRegion !== region) return { status: 400, code: "AuthorizationHeaderMalformed" };
  const digest = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
  const hash = incoming.headers["x-amz-content-sha256"];
  if (hash !== "UNSIGNED-PAYLOAD" && hash !== digest(body)) {
    return { status: 400, code: "XAmzContentSHA256Mismatch" };
  }
  const [path = "", query = ""] = (incoming.url ?? "/").split(/\?(.*)/s);
  const canonical = [
    incoming.method,
    path,
    query.split("&").sort().join("&"),
    ...signed.split(";").map(
      (name) =>
        `${name}:${String(incoming.headers[name] ?? "")
          .trim()
          .replace(/\s+/g, " ")}`,
    ),
    "",
    signed,
    incoming.headers["x-amz-content-sha256"],
  ].join("\n");
  const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();
  const stamp = String(incoming.headers["x-amz-date"]);
  const scope = `${day}/${region}/s3/aws4_request`;
  const key = hmac(hmac(hmac(hmac(`AWS4${s3Keys.secretAccessKey}`, day), region), "s3"), "aws4_request");
  const expected = hmac(key, ["AWS4-HMAC-SHA256", stamp, scope, digest(canonical)].join("\n")).toString(
    "hex",
  );
  const complete = ["host", "x-amz-content-sha256", "x-amz-date"].every((name) =>
    signed.split(";").includes(name),
  );
  return complete && stamp.startsWith(day) && expected === signature
    ? null
    : { status: 403, code: "SignatureDoesNotMatch" };
}
