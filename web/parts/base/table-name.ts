import type { Dataset } from "../../calls.ts";

/** Datasets read at once. */
export const MOST_DATASETS = 100;

/** Name of a table in SQL: only the dataset if they have the same name. */
export const tableName = (layer: string, dataset: string, table: string): string =>
  `${layer}.${table === dataset ? dataset : `${dataset}__${table}`}`;

/**
 * Columns of the lake's tables by their name in SQL: `raw.shop__orders`,
 * or `raw.orders` if the table has the dataset's name.
 */
type Columns = Readonly<Record<string, readonly string[]>>;

export interface Tables {
  readonly columns: Columns;
  /** Whether there are no others. */
  readonly isWhole: boolean;
}

export const columnsOf = (datasets: readonly Dataset[]): Columns =>
  Object.fromEntries(
    datasets.flatMap(({ layer, dataset, tables }) =>
      tables.map(({ name, columns }) => [
        tableName(layer, dataset, name),
        columns.map((column) => column.name),
      ]),
    ),
  );
