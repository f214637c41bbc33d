import { apiToDataset } from "./api-to-dataset.ts";
import { auditExport } from "./audit-export.ts";
import { bucketToBucket } from "./bucket-to-bucket.ts";
import { commerceDashboard } from "./commerce-dashboard.ts";
import { services } from "./connections/all.ts";
import type { BuiltIn } from "./contract.ts";
import { driveToDataset } from "./drive-to-dataset.ts";
import { filesToDataset } from "./files-to-dataset.ts";
import { formApproval } from "./form-approval.ts";
import { httpApi } from "./http-api.ts";
import { martToPostgres } from "./mart-to-postgres.ts";
import { quickStart } from "./quick-start.ts";
import { scheduledReport } from "./scheduled-report.ts";
import { webhookApproval } from "./webhook-approval.ts";

/** Built-in templates, in the order of the list of bundles. */
export const builtIns: readonly BuiltIn[] = [
  quickStart,
  webhookApproval,
  formApproval,
  scheduledReport,
  filesToDataset,
  apiToDataset,
  auditExport,
  commerceDashboard,
  driveToDataset,
  bucketToBucket,
  martToPostgres,
  httpApi,
  ...services,
];
