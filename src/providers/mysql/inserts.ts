import { AppError } from "../../base/errors.ts";

/** Approximate length of a statement. A longer row has its own. */
const STATEMENT_BYTES = 1024 * 1024;
/** Space in a packet for the protocol and the start of a statement. */
const PACKET_REST_BYTES = 16 * 1024;
const LINE_FEED = 10;

/**
 * Statements of `head` and as many rows as fit. In the input each row is one line that ends with a comma. Throws
 * `schema_contract_violation` for a row that is too large for a packet.
 */
export async function* statementsOf(
  bytes: AsyncIterable<Uint8Array>,
  head: string,
  packetBytes: number,
  table: string,
): AsyncGenerator<string> {
  const most = packetBytes - PACKET_REST_BYTES - head.length;
  const wanted = Math.min(STATEMENT_BYTES, most);
  let waiting: Uint8Array[] = [];
  let size = 0;
  const statement = (rows: Uint8Array) => {
    if (rows.length > most)
      throw new AppError(
        "schema_contract_violation",
        `A row for ${table} is ${rows.length} bytes long, and the server's max_allowed_packet is ${packetBytes}. Nothing was written.`,
      );
    return head + Buffer.from(rows.buffer, rows.byteOffset, rows.length - 2).toString("utf8"); // without the comma and the line feed
  };
  for await (const chunk of bytes) {
    waiting.push(chunk);
    size += chunk.length;
    if (size < wanted || !chunk.includes(LINE_FEED)) continue;
    let text = Buffer.concat(waiting);
    for (let end = endOf(text, wanted); end > 0; end = text.length < wanted ? 0 : endOf(text, wanted)) {
      yield statement(text.subarray(0, end));
      text = text.subarray(end);
    }
    waiting = [text];
    size = text.length;
  }
  const last = Buffer.concat(waiting);
  for (let rest = last; rest.length > 0; ) {
    const end = endOf(rest, wanted);
    yield statement(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
}

/** Position after the last row that ends within `wanted` bytes, or after the first row; 0 if none ends. */
function endOf(text: Buffer, wanted: number): number {
  const last = text.lastIndexOf(LINE_FEED, Math.min(wanted, text.length) - 1);
  return (last >= 0 ? last : text.indexOf(LINE_FEED)) + 1;
}
