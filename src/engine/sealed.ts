import { getTableName } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { idempotencyKeys, replyLabel } from "../http/idempotency.ts";
import { authLabel } from "../resources/automations/sender.ts";
import { automations, notifyLabel, secretLabel } from "../resources/automations/table.ts";
import { bundleInstalls, installLabel } from "../resources/bundles/table.ts";
import {
  attemptLabel,
  catalogSignInAttempts,
  catalogSignIns,
  clientLabel,
  tokensLabel,
} from "../resources/catalog-sign-ins/table.ts";
import { credentialsLabel } from "../resources/connections/credentials.ts";
import {
  attemptLabel as connectionAttemptLabel,
  signInLabel,
} from "../resources/connections/sign-in-store.ts";
import {
  connectionSignInAttempts,
  connectionSignIns,
  connections,
  connectionTokens,
} from "../resources/connections/table.ts";
import { tokenLabel } from "../resources/connections/tokens.ts";
import { dashboards, shareLabel } from "../resources/dashboards/table.ts";
import { refreshLabel } from "../resources/openid/table.ts";
import { addressLabel, userErasures } from "../resources/personal-data/table.ts";
import { secondFactors, totpLabel } from "../resources/second-factor/table.ts";
import { sessions } from "../resources/sessions/table.ts";
import { slackReplies, targetLabel } from "../resources/slack/table.ts";
import { webhookLabel, webhooks } from "../resources/webhooks/table.ts";

/** A column with encrypted texts, and how to find and decrypt them. */
export interface SealedColumn {
  /** Its name in the database: `connections.sealed_credentials`. */
  readonly name: string;
  readonly table: SQLiteTable;
  readonly column: SQLiteColumn;
  /** The primary key's columns, in its order. */
  readonly primaryKey: readonly SQLiteColumn[];
  /** The values that make up `label`. */
  readonly facts: Readonly<Record<string, SQLiteColumn>>;
  readonly label: (row: Readonly<Record<string, string>>) => string;
}

const sealed = <K extends string>(
  table: SQLiteTable,
  column: SQLiteColumn,
  facts: Readonly<Record<K, SQLiteColumn>>,
  label: (row: Readonly<Record<K, string>>) => string,
  primaryKey?: readonly SQLiteColumn[],
): SealedColumn => ({
  name: `${getTableName(table)}.${column.name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
  table,
  column,
  facts,
  primaryKey: primaryKey ?? [(facts as Record<string, SQLiteColumn>).id as SQLiteColumn],
  label: label as SealedColumn["label"],
});

/** Every column with encrypted texts. A column missing here would be unreadable after a key rotation. */
export const SEALED: readonly SealedColumn[] = [
  sealed(
    slackReplies,
    slackReplies.sealedTarget,
    { id: slackReplies.id, organizationId: slackReplies.organizationId },
    targetLabel,
  ),
  sealed(
    dashboards,
    dashboards.sealedShareToken,
    { id: dashboards.id, organizationId: dashboards.organizationId },
    shareLabel,
  ),
  sealed(
    connections,
    connections.sealedCredentials,
    { id: connections.id, organizationId: connections.organizationId },
    credentialsLabel,
  ),
  sealed(
    connectionTokens,
    connectionTokens.sealedToken,
    { connectionId: connectionTokens.connectionId, organizationId: connectionTokens.organizationId },
    tokenLabel,
    [connectionTokens.connectionId],
  ),
  sealed(
    connectionSignIns,
    connectionSignIns.sealedTokens,
    { connectionId: connectionSignIns.connectionId, organizationId: connectionSignIns.organizationId },
    signInLabel,
    [connectionSignIns.connectionId],
  ),
  sealed(
    connectionSignInAttempts,
    connectionSignInAttempts.sealedFacts,
    { stateHash: connectionSignInAttempts.stateHash },
    connectionAttemptLabel,
    [connectionSignInAttempts.stateHash],
  ),
  sealed(
    bundleInstalls,
    bundleInstalls.sealedFingerprint,
    { id: bundleInstalls.id, organizationId: bundleInstalls.organizationId },
    installLabel,
  ),
  sealed(
    automations,
    automations.sealedSecret,
    { id: automations.id, organizationId: automations.organizationId },
    secretLabel,
  ),
  sealed(
    automations,
    automations.sealedAuth,
    { id: automations.id, organizationId: automations.organizationId },
    authLabel,
  ),
  sealed(
    automations,
    automations.sealedNotify,
    { id: automations.id, organizationId: automations.organizationId },
    notifyLabel,
  ),
  sealed(
    webhooks,
    webhooks.sealedSecret,
    { id: webhooks.id, organizationId: webhooks.organizationId },
    webhookLabel,
  ),
  sealed(
    webhooks,
    webhooks.sealedPreviousSecret,
    { id: webhooks.id, organizationId: webhooks.organizationId },
    webhookLabel,
  ),
  sealed(
    catalogSignIns,
    catalogSignIns.sealedClientSecret,
    { id: catalogSignIns.id, organizationId: catalogSignIns.organizationId },
    clientLabel,
  ),
  sealed(
    catalogSignIns,
    catalogSignIns.sealedTokens,
    { id: catalogSignIns.id, organizationId: catalogSignIns.organizationId },
    tokensLabel,
  ),
  sealed(
    catalogSignInAttempts,
    catalogSignInAttempts.sealedFacts,
    { stateHash: catalogSignInAttempts.stateHash },
    attemptLabel,
    [catalogSignInAttempts.stateHash],
  ),
  sealed(secondFactors, secondFactors.sealedSecret, { userId: secondFactors.userId }, totpLabel, [
    secondFactors.userId,
  ]),
  sealed(userErasures, userErasures.sealedAddress, { userId: userErasures.userId }, addressLabel, [
    userErasures.userId,
  ]),
  sealed(sessions, sessions.sealedRefreshToken, { id: sessions.id }, refreshLabel),
  sealed(
    idempotencyKeys,
    idempotencyKeys.reply, // only replies with a secret are encrypted
    {
      organizationId: idempotencyKeys.organizationId,
      actorId: idempotencyKeys.actorId,
      key: idempotencyKeys.key,
    },
    replyLabel,
    [idempotencyKeys.organizationId, idempotencyKeys.actorId, idempotencyKeys.key],
  ),
];
