import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { json, startApi } from "../peers/api.ts";
import { startApp } from "../support/app.ts";
import { addHttp, CATALOG, httpApi } from "../support/catalog.ts";

let weir: Awaited<ReturnType<typeof startApp>>;
let owner: typeof weir.owner;
let peer: ReturnType<typeof startApi>;
beforeAll(async () => {
  weir = await startApp({ engine: false });
  owner = weir.owner;
  peer = startApi({ "*": json({}) });
});
afterAll(async () => {
  await peer.stop();
  await weir[Symbol.asyncDispose]();
});

const read = async (content: unknown) => {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return (await owner("POST", `${CATALOG}/ai-import`, { content: text })).body;
};

let count = 0;

/** Imports the command, sends it with these arguments, and returns what arrived. */
async function sent(command: string, input: object = {}) {
  const body = await read(command.replaceAll("URL", peer.url));
  const entry = httpApi(`Curl ${++count}`, { baseUrl: body.baseUrl, endpoints: body.endpoints });
  const { id } = await addHttp(owner, entry);
  const [{ name }] = body.endpoints;
  const tried = await owner("POST", `${CATALOG}/${id}/endpoints/${name}/test`, { input });
  expect([tried.status, tried.body.detail]).toEqual([200, undefined]);
  return { ...peer.heard.at(-1), warnings: body.warnings, endpoint: body.endpoints[0] };
}

describe("the options of a curl command", () => {
  test.each(
    "--noproxy --dns-servers --unix-socket --socks5 --capath --keepalive-time --retry-max-time --netrc-file --pinnedpubkey --local-port -o -D -Y -z -Q -P -t -U".split(
      " ",
    ),
  )("%s takes a value, which isn't the URL", async (option) => {
    const { endpoints, warnings } = await read(`curl ${option} x https://api.example.com/orders`);
    expect([endpoints.map(({ path }: { path: string }) => path), warnings]).toEqual([["/orders"], []]);
  });

  test("of one letter can be written together", async () => {
    const { endpoints, warnings } = await read("curl -sSfLkXDELETE -vo out https://api.example.com/orders");
    expect(endpoints[0]).toMatchObject({ method: "DELETE", path: "/orders" });
    expect(warnings).toEqual([]);
  });

  test("that aren't known are reported, and their values aren't taken for the URL", async () => {
    const { endpoints, warnings } = await read(
      "curl --new-thing x -# --no-keepalive https://api.example.com/orders",
    );
    expect(endpoints[0].path).toBe("/orders");
    expect(warnings).toEqual(["curl's option --new-thing isn't known. It is left out."]);
  });

  test("that an endpoint can't express are reported", async () => {
    const { endpoints, warnings } = await read(
      "curl -K auth.txt --request-target /real --variable a=b --aws-sigv4 x https://api.example.com/orders",
    );
    expect(endpoints[0].path).toBe("/orders");
    expect(warnings).toEqual([
      "curl's option --config isn't read. What it does to the request is left out.",
      "curl's option --request-target isn't read. What it does to the request is left out.",
      "curl's option --variable isn't read. What it does to the request is left out.",
      "curl's option --aws-sigv4 isn't read. What it does to the request is left out.",
    ]);
  });

  test("--next begins another request, and of several URLs the first is read, with a warning", async () => {
    const { endpoints, warnings } = await read(
      "curl https://api.example.com/a https://api.example.com/b --next -d x=1 https://api.example.com/c",
    );
    const found = endpoints.map(({ method, path }: Record<string, string>) => `${method} ${path}`);
    expect(found).toEqual(["GET /a", "POST /c"]);
    expect(warnings).toEqual([
      "Of several URLs in one curl command, only the first is read: https://api.example.com/a",
    ]);
  });

  test("-T uploads with PUT", async () => {
    const { method, path, body, warnings } = await sent("curl -T notes.txt URL/files/", { body: "Hello" });
    expect([method, path, body]).toEqual(["PUT", "/files/notes.txt", "Hello"]);
    expect(warnings[0]).toContain("is in the file notes.txt. It is an argument.");
  });
});

describe("the data of a curl command", () => {
  test("is encoded as --data-urlencode says", async () => {
    const { body, endpoint } = await sent("curl --data-urlencode 'c=é&=+' URL/form", { c: "é&=+" });
    expect(Object.keys(endpoint.inputSchema.properties)).toEqual(["c"]);
    expect([...new URLSearchParams(body)]).toEqual([["c", "é&=+"]]);
  });

  test.each(["-d", "--data-binary", "--json"])("in a file is an argument: %s @file", async (option) => {
    const type = option === "--json" ? "" : "-H 'Content-Type: application/json'";
    const { method, body, warnings, endpoint } = await sent(`curl ${option} @order.json ${type} URL/orders`, {
      body: { a: 1 },
    });
    expect([method, body, Object.keys(endpoint.inputSchema.properties)]).toEqual([
      "POST",
      '{"a":1}',
      ["body"],
    ]);
    expect(warnings[0]).toContain("is in the file order.json");
  });

  test("is any JSON if its type is JSON, and what is given isn't", async () => {
    const type = "-H 'Content-Type: application/json'";
    const { body } = await sent(`curl ${type} -d '{"id": $ID}' URL/orders`, { body: { id: 1 } });
    expect(body).toBe('{"id":1}');
  });

  test("keeps a field that occurs twice, in the query too", async () => {
    const both = await sent("curl -d a=x -d a=y 'URL/list?id=1&id=2'", { a: ["x", "y"], id: [1, 2] });
    expect([both.query, both.body]).toEqual(["?id=1&id=2", "a=x&a=y"]);
    expect(both.endpoint.inputSchema.properties.id).toEqual({
      type: "array",
      items: { type: "integer" },
      examples: [["1", "2"]],
    });
  });

  test("has the types of texts only where the same text is sent again", async () => {
    const text = "curl -d zip=01234 -d n=-7 -d price=1.50 -d rate=1.5 -d long=12345678901234567890 URL/form";
    const { body, endpoint } = await sent(text, { zip: "01234", n: -7, price: "1.50", rate: 1.5 });
    expect(body).toBe("zip=01234&n=-7&price=1.50&rate=1.5");
    const types = Object.values(endpoint.inputSchema.properties).map(
      (each) => (each as { type: string }).type,
    );
    expect(types).toEqual(["string", "integer", "string", "number", "string"]);
  });

  test("can be repeated with long numbers in JSON", async () => {
    const data = '{"id":9007199254740993,"n":1.10}';
    const { endpoint } = await sent(`curl -d '${data}' URL/orders`, { id: "9007199254740993", n: 1.1 });
    expect(endpoint.inputSchema.properties).toEqual({
      id: { type: ["integer", "string"] },
      n: { type: "number" },
    });
  });
});

test("placeholders in headers become arguments", async () => {
  const { headers, endpoint } = await sent(
    `curl -H "X-K: \${KEY}" -H "X-T: Token $TOKEN/<part>" -H 'X-P: $5' URL/orders`,
    { KEY: "k1", TOKEN: "t", part: "p" },
  );
  expect(headers).toMatchObject({ "x-k": "k1", "x-t": "Token t/p", "x-p": "$5" });
  expect(endpoint.inputSchema.required).toEqual(["KEY", "TOKEN", "part"]);
});

test("the variables of a GraphQL request in a Postman collection are an object", async () => {
  const graphql = { query: "query Q($id: ID) { a }", variables: '{"id": 1}' };
  const { endpoints } = await read({
    info: { name: "x", schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json" },
    item: [
      {
        name: "Ask",
        request: {
          method: "POST",
          url: "https://api.example.com/graphql",
          body: { mode: "graphql", graphql },
        },
      },
    ],
  });
  expect(endpoints[0].inputSchema.properties).toMatchObject({
    query: { type: "string" },
    variables: { type: "object", properties: { id: { type: "integer" } } },
  });
});
