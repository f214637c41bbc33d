import type { SqlServer } from "../sql/shape.ts";

export const MYSQL: SqlServer = { title: "MySQL", port: 3306, schemes: ["mysql", "mariadb"] };
