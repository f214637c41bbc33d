import { amazonSeller } from "./amazon-seller/amazon-seller.ts";
import type { Provider, Providers } from "./contract.ts";
import { googleDrive } from "./google-drive/google-drive.ts";
import { klaviyo } from "./klaviyo/klaviyo.ts";
import { localFiles } from "./local-files/local-files.ts";
import { mysql } from "./mysql/mysql.ts";
import { postgres } from "./postgres/postgres.ts";
import { s3 } from "./s3/s3.ts";
import { sftp } from "./sftp/sftp.ts";
import { shopify } from "./shopify/shopify.ts";
import { smtp } from "./smtp/smtp.ts";

const all: readonly Provider[] = [
  amazonSeller,
  googleDrive,
  klaviyo,
  localFiles,
  mysql,
  postgres,
  s3,
  sftp,
  shopify,
  smtp,
];

/** To add a provider, add its file and its line. The conformance test then covers it. */
export const providers: Providers = new Map(all.map((provider) => [provider.id, provider]));
