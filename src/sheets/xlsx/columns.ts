import type { SheetType } from "../contract.ts";
import { Odd } from "../odd.ts";
import type { Cell, Kind } from "./cells.ts";

const became = (values: string) => `${values} became text because the column mixes types`;
const IN_A_MIX: Readonly<Record<Kind, string>> = {
  text: became("texts"),
  number: became("numbers"),
  boolean: became("booleans"),
  day: became("dates"),
  instant: became("dates"),
  zoned: became("dates"),
  clock: became("times"),
};

/** A column, based on all of its cells. */
export class SheetColumn {
  /** Values by kind: reported if the column has mixed kinds. */
  readonly #kinds = new Map<Kind, Odd>();
  /** Values that are lost or changed. */
  readonly #changed = new Odd();

  /** Counts a cell; `address` returns its address, such as B7. */
  see(cell: Cell, address: () => string): void {
    const example = () =>
      `${address()}: ${typeof cell.text === "string" ? cell.text : Buffer.from(cell.text)}`;
    if (cell.why !== undefined) this.#changed.add(cell.why, example);
    if (cell.kind === "nothing") return;
    const values = this.#kinds.get(cell.kind) ?? new Odd();
    this.#kinds.set(cell.kind, values);
    values.add(IN_A_MIX[cell.kind], example);
  }

  /** The one type that preserves all values; VARCHAR if there is none. */
  get type(): SheetType {
    const [kind = "text", other] = this.#kinds.keys();
    if (other === undefined) return TYPES[kind];
    const areDates = [...this.#kinds.keys()].every((each) => each === "day" || each === "instant");
    return areDates ? "TIMESTAMP" : "VARCHAR";
  }

  get odd(): Odd {
    const odd = new Odd();
    odd.take(this.#changed);
    if (this.type !== "VARCHAR") return odd;
    for (const [kind, values] of this.#kinds) if (kind !== "text") odd.take(values);
    return odd;
  }
}

const TYPES: Readonly<Record<Kind, SheetType>> = {
  text: "VARCHAR",
  number: "number",
  boolean: "BOOLEAN",
  day: "DATE",
  instant: "TIMESTAMP",
  zoned: "TIMESTAMPTZ",
  clock: "TIME",
};
