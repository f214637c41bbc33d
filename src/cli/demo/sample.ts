import orders from "../../resources/template-library/built-in/shop/orders.jsonl" with { type: "text" };
import laterOrders from "./shop/orders-2.jsonl" with { type: "text" };

/** An order in the sample shop's files. */
interface Order {
  id: number;
  ordered_at: string;
  updated_at: string;
  status: string;
  lines: { sku: string; quantity: number; unit_price: number }[];
  [more: string]: unknown;
}

/** Expected content of the lake after the first files of the shop, computed independently. */
export interface Truth {
  orders: number;
  /** Number of days with orders. */
  days: number;
  newestDay: string;
  newestRevenue: number;
}

const DAY_MS = 86_400_000;

/** Name of the shop's order file with this number, starting with 1. */
export const ordersName = (batch: number): string => (batch === 1 ? "orders.jsonl" : `orders-${batch}.jsonl`);

/** The number in such a name. Null for other files. */
export function batchOf(name: string): number | null {
  const [, number] = /^orders(?:-(\d+))?\.jsonl$/.exec(name) ?? [name, null];
  return number === null ? null : Number(number ?? 1);
}

/**
 * The shop's order file with this number. The first contains its spring, each later one another day:
 * 34 new orders and 3 returns. Files after the second are derived from it.
 */
export function ordersFile(batch: number): { name: string; text: string } {
  const name = ordersName(batch);
  if (batch === 1) return { name, text: orders };
  if (batch === 2) return { name, text: laterOrders };
  return {
    name,
    text: `${batchOrders(batch)
      .map((order) => JSON.stringify(order))
      .join("\n")}\n`,
  };
}

const parse = (text: string): Order[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

function batchOrders(batch: number): Order[] {
  if (batch === 1) return parse(orders);
  const second = parse(laterOrders);
  const daysOn = batch - 2;
  if (daysOn === 0) return second;
  const on = (instant: string) =>
    `${new Date(Date.parse(instant) + daysOn * DAY_MS).toISOString().slice(0, 19)}Z`;
  const bought = second.filter((order) => order.status !== "refunded");
  const returned = second.filter((order) => order.status === "refunded");
  const earlier = parse(orders).filter((order) => order.status === "shipped");
  return [
    ...bought.map((order) => ({
      ...order,
      id: order.id + daysOn * bought.length,
      ordered_at: on(order.ordered_at),
      updated_at: on(order.updated_at),
    })),
    ...returned.map((order, index) => {
      const original = earlier[((daysOn - 1) * returned.length + index) % earlier.length] ?? order;
      return { ...original, status: "refunded", updated_at: on(order.updated_at) };
    }),
  ];
}

/** Number of new and existing orders in a file. */
export function newsOf(batch: number): { inserted: number; updated: number } {
  const all = batchOrders(batch);
  const updated = batch === 1 ? 0 : all.filter((order) => order.status === "refunded").length;
  return { inserted: all.length - updated, updated };
}

/** Expected values after the files up to this one, with the newest version of each order. */
export function truthOf(batch: number): Truth {
  const known = new Map<number, Order>();
  for (let number = 1; number <= batch; number++) {
    for (const order of batchOrders(number)) known.set(order.id, order);
  }
  const cents = new Map<string, number>();
  for (const { status, ordered_at, lines } of known.values()) {
    if (status === "cancelled" || status === "refunded") continue;
    const day = ordered_at.slice(0, 10);
    const amount = lines.reduce((sum, line) => sum + line.quantity * Math.round(line.unit_price * 100), 0);
    cents.set(day, (cents.get(day) ?? 0) + amount);
  }
  const newestDay = [...cents.keys()].sort().at(-1) ?? "";
  return {
    orders: known.size,
    days: cents.size,
    newestDay,
    newestRevenue: (cents.get(newestDay) ?? 0) / 100,
  };
}
