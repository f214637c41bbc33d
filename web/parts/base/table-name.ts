/** Name of a table in SQL: only the dataset if they have the same name. */
export const tableName = (layer: string, dataset: string, table: string): string =>
  `${layer}.${table === dataset ? dataset : `${dataset}__${table}`}`;
