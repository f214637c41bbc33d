import type { SqlServer } from "../sql/shape.ts";

export const POSTGRES: SqlServer = { title: "PostgreSQL", port: 5432, schemes: ["postgres", "postgresql"] };
