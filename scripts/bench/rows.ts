import { createWriteStream } from "node:fs";

const START = 1_767_225_600_000;
const CITIES = ["Berlin", "Lyon", "Porto", "Gent"];

/** Ten scalar values. */
export const flatRow = (i: number) => ({
  id: i,
  customer: `customer ${i % 5000}`,
  token: Bun.hash(String(i)).toString(16).padStart(16, "0"),
  quantity: i % 997,
  amount: Math.round(i * 137) / 100,
  ratio: i / 7,
  paid: i % 2 === 0,
  placed_at: new Date(START + i * 1000).toISOString(),
  city: CITIES[i % CITIES.length],
  note: i % 10 === 0 ? null : `note, with "quotes" ${i}`,
});

/** An order with an object, a list of objects and a list of texts. */
export const nestedRow = (i: number) => ({
  id: i,
  status: i % 3 === 0 ? "paid" : "open",
  placed_at: new Date(START + i * 1000).toISOString(),
  total: Math.round(i * 137) / 100,
  customer: {
    id: i % 5000,
    name: `customer ${i % 5000}`,
    address: { city: CITIES[i % 4], zip: `${10_000 + (i % 90_000)}` },
  },
  lines: Array.from({ length: 1 + (i % 3) }, (_, at) => ({
    sku: `sku-${(i + at) % 700}`,
    quantity: 1 + (i % 5),
    price: ((i + at) % 900) / 10,
  })),
  tags: i % 4 === 0 ? ["new", CITIES[i % 3]] : [],
});

/** Writes this many rows to a file, one line of JSON each. */
export async function writeLines(path: string, rows: number, rowOf: (i: number) => object): Promise<void> {
  const into = createWriteStream(path);
  for (let from = 0; from < rows; from += 1000) {
    let text = "";
    for (let i = from; i < Math.min(rows, from + 1000); i++) text += `${JSON.stringify(rowOf(i))}\n`;
    if (!into.write(text)) await new Promise((drained) => into.once("drain", drained));
  }
  await new Promise<void>((done) => into.end(() => done()));
}
