import { afterAll, beforeAll, expect, test } from "bun:test";
import { startApp } from "../support/app.ts";
import { exchange } from "../support/raw.ts";
import { ACTIONS } from "../support/work.ts";

let app: Awaited<ReturnType<typeof startApp>>;
beforeAll(async () => {
  app = await startApp({ engine: false });
});
afterAll(() => app[Symbol.asyncDispose]());

/** A second request hidden in what follows the head of the first. */
const hidden = () => `DELETE /api/v1/sessions HTTP/1.1\r\nHost: x\r\nX-Correlation-Id: smuggled\r\n\r\n`;
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;

const send = (framing: string, after: string) =>
  exchange(
    app.origin,
    `POST ${ACTIONS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${app.token}\r\n${framing}\r\n\r\n${after}`,
    (reply) => /\r\n\r\n/.test(reply),
  );

test.each([
  ["both lengths", "Content-Length: 4\r\nTransfer-Encoding: chunked", () => chunk(hidden())],
  [
    "both lengths, the other way round",
    "Transfer-Encoding: chunked\r\nContent-Length: 6",
    () => `0\r\n\r\n${hidden()}`,
  ],
  ["two lengths", "Content-Length: 2\r\nContent-Length: 200", () => `{}${hidden()}`],
  ["two lengths in one header", "Content-Length: 2, 200", () => `{}${hidden()}`],
  ["a length with a sign", "Content-Length: +2", () => `{}${hidden()}`],
  [
    "an encoding twice",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    () => `0\r\n\r\n${hidden()}`,
  ],
  ["an encoding that nobody knows", "Transfer-Encoding: xchunked", () => `0\r\n\r\n${hidden()}`],
  [
    "a space before the colon",
    "Transfer-Encoding : chunked\r\nContent-Length: 6",
    () => `0\r\n\r\n${hidden()}`,
  ],
  ["a chunk with a bad length", "Transfer-Encoding: chunked", () => `-1\r\n${hidden()}`],
])(
  "a request with %s is rejected completely, and nothing after it is a request",
  async (_name, framing, after) => {
    const reply = await send(framing, after());
    expect(reply).toStartWith("HTTP/1.1 400 ");
    expect(reply.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(reply).not.toContain("smuggled");
  },
);

test.each([
  ["body", () => `POST ${ACTIONS}`],
  ["upload", () => "PUT /api/v1/datasets/raw/shop/upload?format=csv"],
])("a request whose %s has the same length twice is rejected", async (_name, line) => {
  const reply = await exchange(
    app.origin,
    `${line()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.token}\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
    (text) => text.includes("}"),
  );
  expect(reply).toStartWith("HTTP/1.1 400 ");
  expect(reply).toContain("only one Content-Length header");
});
