import { sqlChild } from "../../src/sql/child.ts";

/** What `weir __sql` runs, for tests that start DuckDB without the command line. */
await sqlChild();
