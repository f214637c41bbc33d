import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { json, owned } from "../../store/columns.ts";

/** Types of components of a bundle. */
export const COMPONENT_TYPES = ["connection", "action", "automation", "agent_spec"] as const;
export type ComponentType = (typeof COMPONENT_TYPES)[number];

/** What an installation created for one component. */
export interface Installed {
  key: string;
  type: ComponentType;
  entityType: string;
  entityId: string;
}

/** A set of components that a bundle created. It is updated in place when a newer version is installed. */
export const bundleInstalls = sqliteTable("bundle_installs", {
  ...owned(),
  bundleSlug: text().notNull(),
  /** The installed version of the bundle. */
  templateId: text().notNull(),
  version: integer().notNull(),
  /**
   * SHA-256 of the inputs' canonical JSON, encrypted with the label `bundle-install:<id>:<organization>`:
   * inputs contain secrets, and a short one could be guessed from its hash.
   */
  sealedFingerprint: text().notNull(),
  /** In the bundle's order. Those that a newer version no longer has are at the end. */
  components: json<Installed[]>().notNull(),
});
export type BundleInstallRow = typeof bundleInstalls.$inferSelect;

/** Label for encrypting an install's fingerprint. */
export const installLabel = (row: { id: string; organizationId: string }) =>
  `bundle-install:${row.id}:${row.organizationId}`;
