import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readEvents } from "../../src/base/sse.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** Returns `bytes` as a stream that is split at `cuts`. */
function streamOf(bytes: Uint8Array, cuts: readonly number[] = []): ReadableStream<Uint8Array> {
  const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  return new ReadableStream({
    start(controller) {
      let from = 0;
      for (const end of ends) {
        controller.enqueue(bytes.slice(from, end));
        from = end;
      }
      controller.close();
    },
  });
}

const read = (text: string, cuts?: readonly number[]) =>
  Array.fromAsync(readEvents(streamOf(bytesOf(text), cuts)));

const message = { event: "message", id: null, retryMs: null };

describe("a stream of server-sent events", () => {
  test("is parsed the same wherever its bytes are split, and with all line ends", async () => {
    const line = fc.string({ unit: fc.constantFrom("a", " ", ":", "é", "😀", "\u0000", "\u2028") });
    const events = fc.array(
      fc.record({
        event: fc.option(fc.constantFrom("log", "end", "été"), { nil: undefined }),
        data: fc.array(line, { minLength: 1, maxLength: 3 }),
        comment: fc.option(line, { nil: undefined }),
      }),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(
        events,
        fc.constantFrom("\n", "\r", "\r\n"),
        fc.boolean(),
        fc.array(fc.nat(200)),
        async (told, end, hasMark, cuts) => {
          const written = told.map(({ event, data, comment }) => [
            ...(comment === undefined ? [] : [`:${comment}`]),
            ...(event === undefined ? [] : [`event: ${event}`]),
            ...data.map((each) => `data: ${each}`),
            "",
          ]);
          const text = written.flat().map((each) => each + end);
          expect(await read((hasMark ? "\uFEFF" : "") + text.join(""), cuts)).toEqual(
            told.map(({ event = "message", data }) => ({ ...message, event, data: data.join("\n") })),
          );
        },
      ),
    );
  });

  test("yields no incomplete event at its end", async () => {
    expect(await read("data: a\n\ndata: b\n")).toEqual([{ ...message, data: "a" }]);
    expect(await read("data: a\n\ndata: b")).toEqual([{ ...message, data: "a" }]);
  });

  test("yields an event as soon as its empty line has arrived, even if it ends in CR", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const events = readEvents(readable);
    const writer = writable.getWriter();
    void writer.write(bytesOf("data: a\r\r"));
    expect((await events.next()).value).toEqual({ ...message, data: "a" });
    await events.return(undefined);
  });

  test("drops one space before a value, and reads a field without a colon as empty", async () => {
    expect(await read("data:  a\ndata:b\ndata\nother: c\n\n")).toEqual([{ ...message, data: " a\nb\n" }]);
    expect(await read("event: x\n\ndata: a\n\n")).toEqual([{ ...message, data: "a" }]);
  });

  test("keeps the last ID and the retry time until they are replaced", async () => {
    const text = "id: 7\nretry: 20\ndata: a\n\ndata: b\n\nid\nretry: soon\ndata: c\n\nid: a\tb\ndata: d\n\n";
    expect(await read(text)).toEqual([
      { event: "message", data: "a", id: "7", retryMs: 20 },
      { event: "message", data: "b", id: "7", retryMs: 20 },
      { event: "message", data: "c", id: null, retryMs: 20 },
      { event: "message", data: "d", id: null, retryMs: 20 },
    ]);
  });

  test("is rejected beyond its limits, in total, per event and per line", async () => {
    const tooLarge = () => new Error("enough");
    const all = (text: string, limits: object) =>
      Array.fromAsync(readEvents(streamOf(bytesOf(text), [10, 20, 30]), { ...limits, tooLarge }));
    const text = "data: 1234\n\n".repeat(5);
    expect(await all(text, { maxEventCharacters: 20 })).toHaveLength(5);
    expect(all(text, { maxCharacters: 40 })).rejects.toThrow("enough");
    expect(all(`data: ${"x".repeat(30)}`, { maxEventCharacters: 20 })).rejects.toThrow("enough");
    expect(all("data: 12345678\n".repeat(5), { maxEventCharacters: 20 })).rejects.toThrow("enough");
  });

  test("is closed when its reader stops", async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytesOf("data: a\n\n")),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const { data } of readEvents(stream)) {
      expect(data).toBe("a");
      break;
    }
    expect(isCancelled).toBe(true);
  });
});
